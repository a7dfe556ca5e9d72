internal import Identifiers
package import JSON
package import Jobs
internal import RecordFormat

/// A record of a person's action on dead letters or failed jobs. It is in `dead-letters`, in the partition of
/// the dead letters. A call writes a mark before and after the action. So an interrupted action is known, and
/// no action happens twice.
package struct DeadLetterMark: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The header that distinguishes a mark from a dead letter.
    package static let header: StaticString = "flotilla-dead-mark"
    /// The limit of dead letters, or of sheets with jobs, in one mark.
    package static let itemsMax = 1_000

    package enum Operation: String, Sendable, CaseIterable {
        /// The records were sent again.
        case redrive
        /// The dead letters are no longer needed.
        case discard
        /// Failed jobs of a send were sent again, with or without dead letters.
        case resend
    }

    package enum Phase: String, Sendable, CaseIterable {
        case begun
        case done
        /// The call that wrote `begun` has not sent anything of it, and does not send it any more. Another call writes
        /// this phase if it takes over and finds no record. A call writes it about itself if another mark came first.
        case left
    }

    /// Some jobs of one sheet, by the position and the lines at which they were first written.
    package struct SheetLines: Sendable, Hashable {
        package var position: JobPosition
        package var lines: LineSet

        package init(position: JobPosition, lines: LineSet) {
            self.position = position
            self.lines = lines
        }
    }

    package var operation: Operation
    package var phase: Phase
    /// The unique id of the call.
    package var run: String
    /// The caller.
    package var author: String
    /// Milliseconds since 1970.
    package var at: Int64
    /// The offsets of the dead letters in this partition.
    package var letterOffsets: [Int64]
    package var jobs: [SheetLines]

    package init(
        _ operation: Operation, phase: Phase, run: String, author: String, at: Int64,
        letterOffsets: [Int64] = [],
        jobs: [SheetLines] = []
    ) {
        self.operation = operation
        self.phase = phase
        self.run = run
        self.author = author
        self.at = at
        self.letterOffsets = letterOffsets
        self.jobs = jobs
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("deed", operation.rawValue)
        writer.field("phase", phase.rawValue)
        writer.field("run", run)
        writer.field("by", author)
        writer.field("at", at)
        if !letterOffsets.isEmpty {
            writer.name("letters")
            writer.beginArray()
            for letter in letterOffsets { writer.value(Int(letter)) }
            writer.endArray()
        }
        if !jobs.isEmpty {
            writer.name("jobs")
            writer.beginArray()
            for sheet in jobs {
                writer.beginObject()
                writer.field("topic", sheet.position.topic)
                writer.field("partition", Int(sheet.position.partition))
                writer.field("offset", sheet.position.offset)
                writer.field("lines", sheet.lines.text)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    package init(from record: JSONObject) {
        self.init(
            record["deed"].choice(of: Operation.self) ?? .redrive,
            phase: record["phase"].choice(of: Phase.self) ?? .begun, run: record["run"].name(),
            author: record["by"].name(), at: record["at"].timeMilliseconds())
        if let letters = record["letters"].optional {
            var elements = letters.array(countMax: Self.itemsMax)
            while let element = elements.next() {
                self.letterOffsets.append(Int64(element.int(in: 0...Int.max)))
            }
        }
        if let jobs = record["jobs"].optional {
            var elements = jobs.array(countMax: Self.itemsMax)
            while let element = elements.next() { self.jobs.append(SheetLines(from: element.object())) }
        }
    }
}

extension DeadLetterMark.SheetLines {
    fileprivate init(from object: JSONObject) {
        let linesValue = object["lines"]
        let lines = LineSet(text: linesValue.string())
        if linesValue.isString, lines == nil {
            linesValue.report("must be lines of a sheet, such as 0-199,201")
        }
        self.init(
            position: JobPosition(
                topic: object["topic"].string(),
                partition: Int32(object["partition"].int(in: 0...Int(Int32.max))),
                offset: Int64(object["offset"].int(in: 0...Int.max))),
            lines: lines ?? LineSet())
    }
}
