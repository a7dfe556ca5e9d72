internal import HTTPServer
internal import JSON
internal import Replay

/// The answers to calls about dead letters.
enum DeadLetterResponse {
    /// Returns the sums by reason. `others` counts the dead letters in none of the sums, whose number is limited.
    static func summary(_ summary: DeadLetterSummary) -> HTTPResponse {
        object { json in
            json.name("sums")
            json.beginArray()
            for (kind, row) in summary.sorted {
                json.beginObject()
                DeadLetterSummary.write(kind, row: row, to: &json)
                json.endObject()
            }
            json.endArray()
            json.field("others", summary.omittedDeadLetters)
        }
    }

    /// Returns a page of the list of dead letters.
    ///
    /// - Parameter page: Its entries as JSON objects, the position behind it, and the number of further dead letters.
    static func list(
        _ page: (entries: [[UInt8]], next: DeadLetterPosition?, more: Int)
    ) -> HTTPResponse {
        object { json in
            json.name("items")
            json.beginArray()
            for entry in page.entries { unsafe entry.withUnsafeBytes { unsafe json.raw($0) } }
            json.endArray()
            json.field("more", page.more)
            json.field("next", page.next?.cursor)
        }
    }

    /// Returns one dead letter with its content. If it is a sheet of jobs, each job is a push.
    static func detail(
        of deadLetter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState
    ) -> HTTPResponse {
        object { json in
            deadLetter.write(state: state, to: &json)
            deadLetter.writeSheet(to: &json)
            guard let sheet = deadLetter.sheet else { return }
            json.name("pushes")
            json.beginArray()
            for job in sheet.jobs {
                json.beginObject()
                json.field("installationId", job.installation)
                json.field("entry", job.entry)
                json.field("recipient", job.recipient)
                json.field("token", job.token)
                json.endObject()
            }
            json.endArray()
        }
    }

    /// Returns the outcome of a redrive: how many records and jobs were sent again, and how many stay for which reason.
    static func redriven(_ tally: Redrive.Tally, isDryRun: Bool) -> HTTPResponse {
        object { json in
            json.field("dryRun", isDryRun ? true : nil)
            json.field("letters", tally.letters)
            json.field("jobs", tally.jobs)
            json.field("settled", tally.alreadySent)
            json.name("stay")
            json.beginArray()
            for (objection, count) in tally.skipped.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                json.beginObject()
                json.field("reason", objection.rawValue)
                json.field("count", count)
                json.field("message", objection.explanation)
                json.endObject()
            }
            json.endArray()
        }
    }

    /// Returns the outcome of a discard.
    ///
    /// - Parameters:
    ///   - count: The number of discarded dead letters.
    ///   - inDoubtCount: The number of dead letters that stay because their redrive has begun.
    static func discarded(_ count: Int, inDoubt inDoubtCount: Int?, isDryRun: Bool) -> HTTPResponse {
        object { json in
            json.field("dryRun", isDryRun ? true : nil)
            json.field("letters", count)
            json.field("inDoubt", inDoubtCount)
        }
    }

    /// Returns 200 with an object whose members `write` writes.
    private static func object(write: (inout JSONWriter) -> Void) -> HTTPResponse {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        write(&json)
        json.endObject()
        return .json(json.bytes)
    }
}
