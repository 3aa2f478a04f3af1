"""Answers with the promise in them, labelled by hand: the request, the answer, and for each promise
what it is about and the day by 2026-11-21, a Saturday ("" for a reminder without a day)."""

from __future__ import annotations

Kept = tuple[str, str]

PROMISING: tuple[tuple[str, str, Kept], ...] = (
    (
        "Remind me on Friday to call Maria",
        "I will remind you on Friday.",
        ("Call Maria", "2026-11-27"),
    ),
    ("", "Sure, I'll remind you tomorrow to water the plants.", ("Water the plants", "2026-11-22")),
    ("", "I'll nudge you on Friday about the rent.", ("Nudge you about the rent", "2026-11-27")),
    ("", "I'll alert you on Friday.", ("I'll alert you on Friday", "2026-11-27")),
    ("", "Sure, I'll ping you tomorrow.", ("I'll ping you tomorrow", "2026-11-22")),
    ("", "I won't let you forget the rent on Friday.", ("The rent", "2026-11-27")),
    ("", "I won\u2019t let you forget to call Anna tomorrow.", ("Call Anna", "2026-11-22")),
    ("", "I'll make sure to bring this up on Friday.", ("Bring this up", "2026-11-27")),
    ("", "Next Tuesday I will review the draft.", ("Review the draft", "2026-11-24")),
    ("", "I'll remind you about the dentist.", ("The dentist", "")),
    (
        "",
        "**I'll remind you** in 3 days to renew the passport.",
        ("Renew the passport", "2026-11-24"),
    ),
    ("", "I'll remind you at 5 pm to call mum.", ("Call mum", "2026-11-21")),
    (
        "",
        "Got it! I\u2019ll remind you on 1 December to pay the rent.",
        ("Pay the rent", "2026-12-01"),
    ),
    (
        "The bins go out Tuesday",
        "I have noted that, and I will remind you on Tuesday.",
        ("The bins go out", "2026-11-24"),
    ),
    (
        "Remind me tomorrow to write the report",
        "Of course. I will remind you tomorrow.",
        ("Write the report", "2026-11-22"),
    ),
    (
        "What do flights cost?",
        "About 200 euros. I'll check the flight prices again tomorrow.",
        ("Check the flight prices again", "2026-11-22"),
    ),
    (
        "",
        "The price is 30 euros. I'll check the price again next week.",
        ("Check the price again", "2026-11-28"),
    ),
    (
        "",
        "I'll get back to you on Monday about the roof.",
        ("Get back to you about the roof", "2026-11-23"),
    ),
    (
        "",
        "Okay. On 1 December I will look at the contract again.",
        ("Look at the contract again", "2026-12-01"),
    ),
    (
        "",
        "I will send you the weekly summary on 2026-12-04.",
        ("Send you the weekly summary", "2026-12-04"),
    ),
    (
        "",
        "Fine, I'm going to review the budget draft on Wednesday.",
        ("Review the budget draft", "2026-11-25"),
    ),
    (
        "",
        "We'll look into the insurance question on Thursday.",
        ("Look into the insurance question", "2026-11-26"),
    ),
    (
        "",
        "That is noted; I will follow up on the invoice in two weeks.",
        ("Follow up on the invoice", "2026-12-05"),
    ),
    (
        "",
        "I'll also check the tariffs again at the end of the month.",
        ("Check the tariffs again", "2026-11-30"),
    ),
    (
        "Erinnere mich am Freitag an die Miete",
        "Ich erinnere dich am Freitag.",
        ("Die Miete", "2026-11-27"),
    ),
    (
        "",
        "Gerne, ich erinnere dich morgen an den Zahnarzt.",
        ("Ich erinnere dich morgen an den Zahnarzt", "2026-11-22"),
    ),
    ("", "Am Montag erinnere ich dich an die Steuer.", ("Die Steuer", "2026-11-23")),
    (
        "",
        "Ich werde dich \u00fcbermorgen an den Termin erinnern.",
        ("Ich werde dich \u00fcbermorgen an den Termin erinnern", "2026-11-23"),
    ),
    (
        "Was kostet der Flug?",
        "Ich pr\u00fcfe morgen die Preise f\u00fcr den Flug.",
        ("Ich pr\u00fcfe die Preise f\u00fcr den Flug", "2026-11-22"),
    ),
    (
        "",
        "Next week I will summarize the notes again.",
        ("Summarize the notes again", "2026-11-28"),
    ),
    ("", "I'll keep that in mind and remind you on Friday to pay.", ("Pay", "2026-11-27")),
    ("", "I'll set a reminder on Friday to pay.", ("Pay", "2026-11-27")),
    ("", "The game is on Friday, and I'll remind you on Thursday.", ("", "2026-11-26")),
    ("", "Kein Problem, ich erinnere dich morgen an die Miete.", ("Die Miete", "2026-11-22")),
    (
        "",
        'I\'ll remind you on Friday to read "The Origin of the Species by Darwin".',
        ('Read "The Origin of the Species by Darwin"', "2026-11-27"),
    ),
    (
        "",
        'I\'ll check the price of "**The Origin of the Species by Darwin**" again tomorrow.',
        ('Check the price of "The Origin of the Species by Darwin" again', "2026-11-22"),
    ),
    ("Appeler Paul", "Je te rappellerai vendredi.", ("Appeler Paul", "2026-11-27")),
    ("Llamar a Pablo", "Te recordar\u00e9 el viernes.", ("Llamar a Pablo", "2026-11-27")),
)

SILENT: tuple[tuple[str, str], ...] = (
    # a plan for the user, day by day
    ("Make me a training plan", "On Monday I will run 5 km."),
    ("", "On Monday I will check my shoes. On Wednesday, I will send my results."),
    ("", "Your plan would be:\nNext Tuesday I will review the draft."),
    ("", "On Monday I will run 5 km."),
    ("", "I'll alert you to problems."),
    ("", "I will not forget it on Friday."),
    # on a condition, or asked
    ("", "If you like, I will remind you on Friday."),
    ("", "Let me know and I'll check tomorrow."),
    ("", "I'll remind you tomorrow if the parcel is late."),
    ("", "Once you send me the list, I will check it on Monday."),
    ("", "Would you like me to remind you on Friday?"),
    ("", "Shall I check again tomorrow?"),
    ("", "I could remind you on Friday."),
    ("", "I would check it tomorrow."),
    ("", "Just say so and I will remind you on Monday."),
    ("", "I'll check tomorrow, okay?"),
    ("", "Wenn du magst, erinnere ich dich am Freitag."),
    ("", "Soll ich dich am Freitag erinnern?"),
    # denied
    ("", "I can't remind you on Friday, as nothing runs while you are away."),
    ("", "I will not check it tomorrow."),
    ("", "I won't remind you on Friday."),
    ("", "Ich werde dich nicht am Freitag erinnern."),
    # within the turn, done, or no day
    ("", "I'll now read the file."),
    ("", "I will check the file."),
    ("", "First I'll search your notes, then I'll compare the two."),
    ("", "I'll look at it today."),
    ("", "I've added 'call Maria' for Friday to your list."),
    ("", "I added a reminder for tomorrow."),
    ("", "Added to Tasks: call Maria due:2026-11-27."),
    ("", "The meeting is on Friday."),
    # nothing to do
    ("", "I'll be happy to help you tomorrow."),
    ("", "I will be here on Monday."),
    ("", "See you tomorrow!"),
    ("", "I'll see you on Friday."),
    ("", "We will have rain tomorrow."),
    ("", "You will get it on Friday."),
    # the words of others
    ("What did Maria write?", 'Maria wrote: "I will call you on Friday."'),
    ("What did Maria write?", "Maria said I'll check it tomorrow."),
    ("What did Maria write?", "> I'll send the offer on Monday."),
    ("Show my note", "Your note says:\n\n- I'll check the price tomorrow\n- I will call on Monday"),
    ("Show the file", "```\nI will remind you on Friday.\n```"),
    ("What did Tom say?", "Tom will send it tomorrow."),
    # drafts
    ("Write a short message to Tom", "I'll call you on Friday."),
    ("Draft an email to the landlord", "I will send you the papers on Monday."),
    ("Translate: Ich rufe dich morgen an", "I will call you tomorrow."),
    ("mail to Tom", "Dear Tom,\n\nI will call you on Friday.\n\nBest regards,\nAnna"),
    ("Schreib eine Nachricht an Eva", "Ich melde mich morgen."),
    # the day of a thing, not of the deed
    ("", "I'll check your calendar for tomorrow."),
    ("", "I'll look up the weather for tomorrow."),
    ("", "I will search for flights on Friday."),
    ("", "I'll read the note from 2026-12-01."),
    ("", "I will check whether the shop opens on Sunday."),
    ("", "I'll compare the flights on 3 December and 4 December."),
    ("", "I'll send the mail you drafted on Monday."),
    ("", "I will write the date into the file: 1 December."),
    ("", "I will add it to the list: dentist, tomorrow at 10."),
    ("", "I'll summarize: the report is due tomorrow."),
    ("", "I'll update the to-do so that it is due on Friday."),
    ("", "I'll remind you that the deadline is Friday."),
    ("", "Ich pr\u00fcfe deinen Kalender f\u00fcr morgen."),
    ("", "Ich schaue mir die Termine am Freitag an."),
    # again and again
    ("", "I will remind you every Friday."),
    ("", "I always check it on Mondays, and I'll check it each week."),
)
