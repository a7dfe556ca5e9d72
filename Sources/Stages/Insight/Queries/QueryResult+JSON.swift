internal import Identifiers
internal import JSON
internal import Jobs
internal import Payloads
internal import RecordFormat
internal import Sends

// The JSON of answers between processes.

extension JSONWriter {
    mutating func object(_ name: StaticString, record: some JSONRecord) {
        self.name(name)
        beginObject()
        record.write(to: &self)
        endObject()
    }
}

extension JSONValue {
    /// A limit above the size of any answer.
    private static var elementsMax: Int { 1_000_000 }

    func list<Value>(read: (JSONValue) -> Value) -> [Value] {
        var list: [Value] = []
        var elements = array(countMax: Self.elementsMax)
        while let element = elements.next() { list.append(read(element)) }
        return list
    }

    func objects<Value>(read: (JSONObject) -> Value) -> [Value] { list { read($0.object()) } }

    func listPosition() -> ListPosition {
        if let position = ListPosition(cursor: string()) { return position }
        report("must be a position in a list")
        return ListPosition(at: 0, tieBreaker: [])
    }
}

extension TimelinePush {
    /// Writes the fields of a push in an answer to a caller, and its recipient.
    func write(to writer: inout JSONWriter) {
        writeReport(to: &writer)
        writer.field("recipient", addressee.recipient)
    }

    init(from object: JSONObject) {
        addressee = ReceiptLines.Addressee(
            installation: object["installationId"].string(), entry: object["entry"].string(),
            recipient: object["recipient"].string())
        send = object["sendId"].string()
        group = object["groupId"].optional?.string()
        version = object["version"].version()
        event = object["event"].choice(of: PushEvent.self) ?? .update
        environment = object["environment"].environment()
        attempt = object["attempt"].int()
        outcome = object["outcome"].choice(of: ReceiptOutcome.self) ?? .unknown
        status = object["status"].optional?.int()
        reason = object["reason"].optional?.string()
        dueAt = object["dueAt"].optional?.timeMilliseconds()
        acceptedAt = object["acceptedAt"].timeMilliseconds()
        at = object["at"].timeMilliseconds()
    }
}
