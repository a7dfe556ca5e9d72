package import JSON

/// The final outcome of one job.
package struct Receipt: Sendable, Hashable {
    package enum Outcome: String, Sendable, CaseIterable {
        /// APNs took it; that is all that a 200 says.
        case accepted
        case rejected
        /// A newer version took its place before it was sent.
        case superseded
        /// Nobody wanted it any more.
        case expired
        /// It was sent and no answer came.
        case unknown
        /// Not an outcome: the job goes on in a later tier.
        case moved
        /// Not an outcome: a start is about to be sent.
        case intent
    }

    /// Which job, wherever it has been since: where it first stood, and which attempt this is.
    package struct Origin: Sendable, Hashable {
        package var topic: String
        package var partition: Int
        package var offset: Int64
        package var attempt: Int

        package init(topic: String, partition: Int, offset: Int64, attempt: Int) {
            self.topic = topic
            self.partition = partition
            self.offset = offset
            self.attempt = attempt
        }
    }

    package var origin: Origin
    package var outcome: Outcome
    /// APNs' status and reason, where there was an answer.
    package var status: Int?
    package var reason: String?
    package var apnsID: String?
    package var app: String
    package var send: String
    package var group: String
    package var installation: String
    package var entry: String
    package var event: PushEvent
    package var version: Int64
    /// Milliseconds since 1970.
    package var at: Int64

    package init(
        origin: Origin, outcome: Outcome, app: String, send: String, group: String, installation: String,
        entry: String,
        event: PushEvent, version: Int64, at: Int64
    ) {
        self.origin = origin
        self.outcome = outcome
        self.app = app
        self.send = send
        self.group = group
        self.installation = installation
        self.entry = entry
        self.event = event
        self.version = version
        self.at = at
    }
}

/// Many receipts in one record of `receipts`: they are on the hot path.
package struct Receipts: Record, Hashable {
    package static let schemaVersion = 1
    /// Receipts in one record.
    package static let countMax = 1000

    package var list: [Receipt]

    package init(_ list: [Receipt]) { self.list = list }

    package func write(to writer: inout JSONWriter) {
        writer.name("receipts")
        writer.beginArray()
        for receipt in list { receipt.write(to: &writer) }
        writer.endArray()
    }

    package init(from record: JSONObject) {
        list = []
        var elements = record["receipts"].array(countMax: Receipts.countMax)
        while let element = elements.next() { list.append(Receipt(from: element.object())) }
    }
}

extension Receipt {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.field("topic", origin.topic)
        writer.field("partition", origin.partition)
        writer.field("offset", origin.offset)
        writer.field("attempt", origin.attempt)
        writer.field("outcome", outcome.rawValue)
        writer.field("status", status)
        writer.field("reason", reason)
        writer.field("apnsId", apnsID)
        writer.field("app", app)
        writer.field("send", send)
        writer.field("group", group)
        writer.field("installationId", installation)
        writer.field("entry", entry)
        writer.field("event", event.rawValue)
        writer.field("version", version)
        writer.field("at", at)
        writer.endObject()
    }

    fileprivate init(from object: JSONObject) {
        self.init(
            origin: Origin(
                topic: object["topic"].string(), partition: object["partition"].int(in: 0...Int(Int32.max)),
                offset: Int64(object["offset"].int(in: 0...Int.max)),
                attempt: object["attempt"].int(in: 1...1_000_000)),
            outcome: object["outcome"].choice(of: Outcome.self) ?? .unknown, app: object["app"].appID(),
            send: object["send"].name(), group: object["group"].name(),
            installation: object["installationId"].name(),
            entry: object["entry"].string(), event: object["event"].choice(of: PushEvent.self) ?? .update,
            version: Int64(object["version"].int(in: 0...Int.max)), at: object["at"].time())
        status = object["status"].optional?.int(in: 100...599)
        reason = object["reason"].optional?.string()
        apnsID = object["apnsId"].optional?.string()
    }
}
