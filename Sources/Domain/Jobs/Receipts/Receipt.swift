package import Identifiers
package import JSON
package import Payloads
internal import RecordFormat
package import Sends

/// The outcomes of some jobs of one sheet: a record of `receipts`. A sender writes one record for all outcomes
/// of a sheet that become known within some milliseconds. Lines with an equal outcome share one part, so a sheet
/// without failures needs a single part. The record's header `to` (`ReceiptLines`) names the addressee of each
/// job, so that readers do not need the sheet.
package struct Receipt: JSONRecord, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of parts in one record.
    package static let partsMax = SheetHead.jobsMax

    /// The lines of the sheet that share an outcome.
    package struct Part: Sendable, Hashable {
        package var outcome: ReceiptOutcome
        /// The line numbers in the sheet that first held the jobs.
        package var lines: LineSet
        /// The HTTP status of APNs, if it answered.
        package var status: Int?
        /// The reason in one word, from APNs or from Flotilla.
        package var reason: String?
        /// For jobs that wait in a retry tier: milliseconds since 1970 before which they are not pushed.
        package var dueAt: Int64?

        package init(
            _ outcome: ReceiptOutcome, lines: LineSet, status: Int? = nil, reason: String? = nil,
            dueAt: Int64? = nil
        ) {
            self.outcome = outcome
            self.lines = lines
            self.status = status
            self.reason = reason
            self.dueAt = dueAt
        }
    }

    package var position: JobPosition
    /// The number of the attempt, from 1. It rises each time that the jobs move to a topic for jobs that wait, such
    /// as `jobs.later.5s`.
    package var attempt: Int
    package var app: String
    package var environment: Environment
    package var send: String
    package var group: String?
    // `SheetHead` describes the scope, the generation and the version.
    package var scope: ScopeKind
    package var generation: Int64
    package var version: Int64
    package var event: PushEvent
    /// The time at which the gateway accepted the send, in milliseconds since 1970.
    package var acceptedAt: Int64
    /// The time at which the sender wrote this receipt, in milliseconds since 1970.
    package var writtenAt: Int64
    package var parts: [Part]

    package init(
        _ head: SheetHead, at position: JobPosition, attempt: Int, writtenAt: Int64, parts: [Part]
    ) {
        self.position = position
        self.attempt = attempt
        self.parts = parts
        self.writtenAt = writtenAt
        (app, environment, send, group) = (head.app, head.environment, head.send, head.group)
        (scope, generation, version, event) = (head.scope, head.generation, head.version, head.event)
        acceptedAt = head.acceptedAt
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("topic", position.topic)
        writer.field("partition", Int(position.partition))
        writer.field("offset", position.offset)
        writer.field("attempt", attempt)
        writer.field("app", app)
        writer.field("environment", environment.rawValue)
        writer.field("send", send)
        writer.field("group", group)
        writer.field("scope", scope == .group ? nil : scope.rawValue)
        writer.field("generation", generation)
        writer.field("version", version)
        writer.field("event", event.rawValue)
        writer.field("acceptedAt", acceptedAt)
        writer.field("at", writtenAt)
        writer.name("parts")
        writer.beginArray()
        for part in parts {
            writer.beginObject()
            writer.field("outcome", part.outcome.rawValue)
            writer.field("lines", part.lines.text)
            writer.field("status", part.status)
            writer.field("reason", part.reason)
            writer.field("dueAt", part.dueAt)
            writer.endObject()
        }
        writer.endArray()
    }

    package init(from record: JSONObject) {
        position = JobPosition(
            topic: record["topic"].string(),
            partition: Int32(record["partition"].int(in: 0...Int(Int32.max))),
            offset: Int64(record["offset"].int(in: 0...Int.max)))
        attempt = record["attempt"].int(in: 1...SheetOrigin.attemptMax)
        app = record["app"].appID()
        environment = record["environment"].environment()
        send = record["send"].name()
        group = record["group"].optional?.name()
        scope = record["scope"].optional?.choice(of: ScopeKind.self) ?? .group
        generation = record["generation"].version()
        version = record["version"].version()
        event = record["event"].choice(of: PushEvent.self) ?? .update
        acceptedAt = record["acceptedAt"].timeMilliseconds()
        writtenAt = record["at"].timeMilliseconds()
        parts = []
        var elements = record["parts"].array(countMax: Receipt.partsMax)
        while let element = elements.next() { parts.append(Part(from: element.object())) }
    }
}

extension Receipt.Part {
    private static let httpStatuses = 100...999

    fileprivate init(from object: JSONObject) {
        let linesValue = object["lines"]
        let lines = LineSet(text: linesValue.string())
        if linesValue.isString, lines == nil {
            linesValue.report("must be lines of a sheet, such as 0-199,201")
        }
        self.init(
            object["outcome"].choice(of: ReceiptOutcome.self) ?? .unknown, lines: lines ?? LineSet(),
            status: object["status"].optional?.int(in: Self.httpStatuses),
            reason: object["reason"].optional?.string(), dueAt: object["dueAt"].optional?.timeMilliseconds())
    }
}
