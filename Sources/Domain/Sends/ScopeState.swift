internal import Identifiers
package import JSON
package import Payloads

/// The state that a scope's phones should show. It holds the newest send with a state, and all fields that
/// are needed to send it again to a late token.
package struct ScopeState: Sendable, Hashable {
    package var send: String
    /// The send that first carried the state, if `send` only restored it after a cancel.
    package var originalSend: String?
    package var version: Int64
    /// Seconds since 1970.
    package var timestamp: Int64
    package var content: PushContent
    package var priority: PushPriority
    /// Seconds since 1970 after which the state is no longer useful.
    package var deadline: Int64
    /// Seconds since 1970 until which APNs keeps a push for an unreachable phone.
    package var expiration: Int64
    /// The time at which the send was accepted, in milliseconds since 1970.
    package var acceptedAt: Int64
    /// In a lane's row: whether the send may be dropped for a newer one, and ends the walks of older ones.
    package var isConflatable = true

    /// - Parameter timestamp: nil if the version is the timestamp, as in rows of version 1.
    package init(
        send: String, version: Int64, timestamp: Int64? = nil, content: PushContent, priority: PushPriority,
        deadline: Int64, expiration: Int64, acceptedAt: Int64
    ) {
        self.send = send
        self.version = version
        self.timestamp = timestamp ?? version
        self.content = content
        self.priority = priority
        self.deadline = deadline
        self.expiration = expiration
        self.acceptedAt = acceptedAt
    }

    /// Whether a cancel of `send` removes this state.
    package func originates(from send: String) -> Bool { self.send == send || originalSend == send }
}

extension JSONWriter {
    /// Writes the state as an object. Without a state it writes nothing.
    mutating func field(_ name: StaticString, _ state: ScopeState?) {
        guard let state else { return }
        self.name(name)
        beginObject()
        fields(state)
        endObject()
    }

    /// Writes the members of the state into the current object.
    mutating func fields(_ state: ScopeState) {
        field("send", state.send)
        field("origin", state.originalSend)
        field("version", state.version)
        field("timestamp", state.timestamp)
        content(state.content)
        field("priority", state.priority.rawValue)
        field("deadline", state.deadline)
        field("expiration", state.expiration)
        field("acceptedAt", state.acceptedAt)
        field("conflate", state.isConflatable ? nil : false)
    }
}

extension JSONObject {
    func scopeState() -> ScopeState {
        var state = ScopeState(
            send: self["send"].name(), version: self["version"].version(),
            timestamp: self["timestamp"].optional?.seconds(), content: content(),
            priority: self["priority"].pushPriority(), deadline: self["deadline"].seconds(),
            expiration: self["expiration"].seconds(), acceptedAt: self["acceptedAt"].timeMilliseconds())
        state.originalSend = self["origin"].optional?.name()
        state.isConflatable = self["conflate"].optional?.bool() ?? true
        return state
    }
}

extension JSONValue {
    func scopeState() -> ScopeState { object().scopeState() }

    /// Reads a version or a generation, or 0 for none.
    package func version() -> Int64 { Int64(int(in: 0...(1 << 53))) }
}
