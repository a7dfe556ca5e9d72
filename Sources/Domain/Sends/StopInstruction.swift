internal import Identifiers
package import JSON
internal import RecordFormat

/// An instruction of the planner to lanes to stop a cancelled send: a record of `expansions.urgent`.
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
