/// One push to one token, or one broadcast to one channel: a record of `jobs`, which is the APNs request
/// itself. Key = the token's hash or the channel; headers = the request's own and our bookkeeping;
/// value = the exact body. A sender parses nothing, and a dead letter needs nothing else.
package struct Job: Sendable, Hashable {
    package static let schemaVersion = 1

    package var app: String
    package var environment: Environment
    /// The token as `TokenSeal.seal` stores it; for a broadcast, the channel id.
    package var token: String
    package var isBroadcast = false
    package var installation: String
    /// The registry row that the token belongs to, with which it was sealed: `update:<activity>`.
    package var entry: String
    package var send: String
    package var group: String
    package var recipient: String
    /// Whether the scope is one recipient; else it is the whole group.
    package var isRecipientScope = false
    package var generation: Int64
    package var version: Int64
    package var event: PushEvent
    /// Seconds since 1970; also the request's `apns-expiration`.
    package var deadline: Int64
    package var attempt = 1
    package var conflate = true
    package var onUnknownStart = Send.UnknownStart.skip
    /// `<bundle id>.push-type.liveactivity`; the bundle id alone for a broadcast.
    package var topic: String
    package var priority: Int
    package var collapseID: String?

    package init(
        app: String, environment: Environment, token: String, installation: String, entry: String,
        send: String,
        group: String, recipient: String, generation: Int64, version: Int64, event: PushEvent,
        deadline: Int64,
        topic: String, priority: Int
    ) {
        self.app = app
        self.environment = environment
        self.token = token
        self.installation = installation
        self.entry = entry
        self.send = send
        self.group = group
        self.recipient = recipient
        self.generation = generation
        self.version = version
        self.event = event
        self.deadline = deadline
        self.topic = topic
        self.priority = priority
    }

    /// The headers in the order in which they are written and read.
    package enum Header: String, Sendable, CaseIterable {
        case version = "flotilla-v"
        case topic = "apns-topic"
        case priority = "apns-priority"
        case expiration = "apns-expiration"
        case collapseID = "apns-collapse-id"
        case app = "flotilla-app"
        case environment = "flotilla-environment"
        case token = "flotilla-token"
        case broadcast = "flotilla-broadcast"
        case installation = "flotilla-installation"
        case entry = "flotilla-entry"
        case send = "flotilla-send"
        case group = "flotilla-group"
        case recipient = "flotilla-recipient"
        case scope = "flotilla-scope"
        case generation = "flotilla-generation"
        case order = "flotilla-version"
        case event = "flotilla-event"
        case attempt = "flotilla-attempt"
        case conflate = "flotilla-conflate"
        case unknownStart = "flotilla-unknown-start"
    }

    /// The record's headers; what has its usual value is left out.
    package var headers: [(name: Header, value: String)] {
        var out: [(name: Header, value: String)] = [
            (.version, String(Job.schemaVersion)), (.topic, topic), (.priority, String(priority)),
            (.expiration, String(deadline)),
        ]
        if let collapseID { out.append((.collapseID, collapseID)) }
        out += [(.app, app), (.environment, environment.rawValue), (.token, token)]
        if isBroadcast { out.append((.broadcast, "1")) }
        out += [
            (.installation, installation), (.entry, entry), (.send, send), (.group, group),
            (.recipient, recipient),
        ]
        if isRecipientScope { out.append((.scope, "recipient")) }
        out += [(.generation, String(generation)), (.order, String(version)), (.event, event.rawValue)]
        if attempt != 1 { out.append((.attempt, String(attempt))) }
        if !conflate { out.append((.conflate, "0")) }
        if onUnknownStart != .skip { out.append((.unknownStart, onUnknownStart.rawValue)) }
        return out
    }

    /// Reads what `headers` wrote; headers that it does not know are ignored.
    package init(headers: some Sequence<(name: String, value: String)>) throws(JobError) {
        var found: [Header: String] = [:]
        for (name, value) in headers {
            if let header = Header(rawValue: name) { found[header] = value }
        }
        func text(_ header: Header) throws(JobError) -> String {
            guard let value = found[header] else { throw .missing(header) }
            return value
        }
        func number(_ header: Header) throws(JobError) -> Int64 {
            guard let value = Int64(try text(header)), value >= 0 else { throw .wrong(header) }
            return value
        }
        let version = try number(.version)
        guard version == Job.schemaVersion else { throw .unknownVersion(version) }
        guard let environment = Environment(rawValue: try text(.environment)) else {
            throw .wrong(.environment)
        }
        guard let event = PushEvent(rawValue: try text(.event)) else { throw .wrong(.event) }
        self.init(
            app: try text(.app), environment: environment, token: try text(.token),
            installation: try text(.installation),
            entry: try text(.entry), send: try text(.send), group: try text(.group),
            recipient: try text(.recipient),
            generation: try number(.generation), version: try number(.order), event: event,
            deadline: try number(.expiration), topic: try text(.topic),
            priority: Int(clamping: try number(.priority)))
        isBroadcast = found[.broadcast] == "1"
        isRecipientScope = found[.scope] == "recipient"
        collapseID = found[.collapseID]
        conflate = found[.conflate] != "0"
        if found[.attempt] != nil { attempt = Int(clamping: try number(.attempt)) }
        if let policy = found[.unknownStart] {
            guard let policy = Send.UnknownStart(rawValue: policy) else { throw .wrong(.unknownStart) }
            onUnknownStart = policy
        }
    }
}

/// Why a record of `jobs` is no job.
package enum JobError: Error, Equatable, CustomStringConvertible {
    case missing(Job.Header)
    case wrong(Job.Header)
    case unknownVersion(Int64)

    package var description: String {
        switch self {
        case .missing(let header): "the job has no header \(header.rawValue)"
        case .wrong(let header): "the job's header \(header.rawValue) cannot be read"
        case .unknownVersion(let version):
            "the job has schema version \(version), this process knows \(Job.schemaVersion); update it and redrive the record"
        }
    }
}
