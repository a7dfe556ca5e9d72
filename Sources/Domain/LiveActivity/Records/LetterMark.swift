package import JSON

/// A person's action on dead letters or failed jobs: a record of `dead-letters`, in the same partition as the
/// letters. It is written before and after the action. So an interrupted action is known, and no action
/// happens twice.
package struct LetterMark: Record, Hashable {
    package static let schemaVersion = 1
    /// The header that distinguishes a mark from a letter.
    package static let header: StaticString = "flotilla-dead-mark"
    /// The maximum number of letters, or of sheets with jobs, in one mark.
    package static let namesMax = 1_000

    package enum Deed: String, Sendable, CaseIterable {
        /// The records were sent again.
        case redrive
        /// The letters are no longer needed.
        case discard
        /// Failed jobs of a send were sent again, with or without dead letters.
        case resend
    }

    package enum Phase: String, Sendable, CaseIterable {
        case begun
        case done
        /// The action that the named run began did not happen. The run was killed first, and none of its
        /// records was found.
        case left
    }

    /// Jobs of the sheet that first held them.
    package struct Jobs: Sendable, Hashable {
        package var place: JobPlace
        package var lines: LineSet

        package init(place: JobPlace, lines: LineSet) {
            self.place = place
            self.lines = lines
        }
    }

    package var deed: Deed
    package var phase: Phase
    /// The unique id of the call.
    package var run: String
    /// The caller.
    package var by: String
    /// Milliseconds since 1970.
    package var at: Int64
    /// Offsets of letters in this partition.
    package var letters: [Int64]
    package var jobs: [Jobs]

    package init(
        _ deed: Deed, _ phase: Phase, run: String, by: String, at: Int64, letters: [Int64] = [],
        jobs: [Jobs] = []
    ) {
        self.deed = deed
        self.phase = phase
        self.run = run
        self.by = by
        self.at = at
        self.letters = letters
        self.jobs = jobs
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("deed", deed.rawValue)
        writer.field("phase", phase.rawValue)
        writer.field("run", run)
        writer.field("by", by)
        writer.field("at", at)
        if !letters.isEmpty {
            writer.name("letters")
            writer.beginArray()
            for letter in letters { writer.value(Int(letter)) }
            writer.endArray()
        }
        if !jobs.isEmpty {
            writer.name("jobs")
            writer.beginArray()
            for one in jobs {
                writer.beginObject()
                writer.field("topic", one.place.topic)
                writer.field("partition", Int(one.place.partition))
                writer.field("offset", one.place.offset)
                writer.field("lines", one.lines.text)
                writer.endObject()
            }
            writer.endArray()
        }
    }

    package init(from record: JSONObject) {
        self.init(
            record["deed"].choice(of: Deed.self) ?? .redrive,
            record["phase"].choice(of: Phase.self) ?? .begun, run: record["run"].name(),
            by: record["by"].name(), at: record["at"].time())
        if let letters = record["letters"].optional {
            var elements = letters.array(countMax: Self.namesMax)
            while let element = elements.next() {
                self.letters.append(Int64(element.int(in: 0...Int.max)))
            }
        }
        if let jobs = record["jobs"].optional {
            var elements = jobs.array(countMax: Self.namesMax)
            while let element = elements.next() { self.jobs.append(Jobs(from: element.object())) }
        }
    }
}

extension LetterMark.Jobs {
    fileprivate init(from object: JSONObject) {
        let lines = object["lines"]
        let set = LineSet(text: lines.string())
        if lines.isString, set == nil { lines.report("must be lines of a sheet, such as 0-199,201") }
        self.init(
            place: JobPlace(
                topic: object["topic"].string(),
                partition: Int32(object["partition"].int(in: 0...Int(Int32.max))),
                offset: Int64(object["offset"].int(in: 0...Int.max))),
            lines: set ?? LineSet())
    }
}
