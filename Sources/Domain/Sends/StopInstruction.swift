internal import Identifiers
package import JSON
package import RecordFormat

/// An instruction to lanes to stop a cancelled send: a record of `expansions.urgent`.
package struct StopInstruction: JSONRecord, Hashable {
    package static let schemaVersion = Expansion.schemaVersion

    package var send: String
    package var key: ScopeKey

    package init(send: String, key: ScopeKey) {
        self.send = send
        self.key = key
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("stops", send)
        writer.field(key)
    }

    package init(from record: JSONObject) {
        self.init(send: record["stops"].name(), key: record.scopeKey())
    }
}

/// A record of `expansions` or `expansions.urgent`.
package indirect enum ExpansionRequest: Sendable, Hashable {
    case expansion(Expansion)
    case stop(StopInstruction)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> ExpansionRequest
    {
        // Both kinds have the same version, because they share the topic.
        try unsafe Expansion.read(bytes, with: reader) { object in
            object["stops"].isMissing
                ? .expansion(Expansion(from: object)) : .stop(StopInstruction(from: object))
        }
    }

    package static func decode(_ bytes: [UInt8], with reader: JSONReader) throws(RecordDecodingError)
        -> ExpansionRequest
    {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe decode(bytes, with: reader)
        }
    }
}
