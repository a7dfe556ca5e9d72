internal import HTTP2
package import LiveActivity

/// The headers and body that all pushes of one send share, encoded once. A client makes it and uses it on its
/// loop only. The header block is encoded again when the provider token changes.
@safe package final class PushTemplate {
    enum PathKind {
        /// A push to one token, which ends the path.
        case device
        /// A broadcast to a channel, or a request about channels. The path is fixed.
        case fixed(path: [UInt8])
    }

    let pathKind: PathKind
    private(set) var pool: ConnectionPool {
        didSet { unsafe currentPool = .passUnretained(pool) }
    }
    /// The pool, unretained. Thousands of pushes then need not count references.
    private var currentPool: Unmanaged<ConnectionPool>
    /// The pool for suspect tokens. Nil for broadcasts and channel requests.
    private var suspects: ConnectionPool?
    let body: SharedBody?
    private let method: String
    private let headers: [HeaderField]
    private var encoded: RequestTemplate?
    private var encodedRevision = 0
    /// Number of open pushes of this template. Together they hold one reference: one reference for each push
    /// took a twentieth of its time.
    private var openPushes = 0

    init(
        _ kind: PathKind, method: String = "POST", headers: [HeaderField], body: [UInt8],
        pool: ConnectionPool,
        suspects: ConnectionPool? = nil
    ) throws(HeaderFieldError) {
        self.pathKind = kind
        self.method = method
        self.headers = headers
        self.body = body.isEmpty ? nil : SharedBody(copying: body.span)
        self.pool = pool
        unsafe currentPool = .passUnretained(pool)
        self.suspects = suspects
        // Encoding here reports a bad header now and not with the first push.
        encoded = try encodeHeaders(bearer: "bearer")
    }

    /// Returns the template for one push, which holds it until `letGo`.
    func retainForPush() -> Unmanaged<PushTemplate> {
        openPushes += 1
        return unsafe openPushes == 1 ? .passRetained(self) : .passUnretained(self)
    }

    static func releaseAfterPush(_ held: Unmanaged<PushTemplate>) {
        let isLast = unsafe held._withUnsafeGuaranteedRef { template in
            template.openPushes -= 1
            return template.openPushes == 0
        }
        if isLast { unsafe held.release() }
    }

    /// The app and key of these pushes.
    package var appEnvironment: PushProfile { pool.key.appEnvironment }

    /// Returns the pool. A pool that was removed because it was idle is created again here.
    func pool(isSuspect: Bool) -> ConnectionPool {
        guard isSuspect, let suspects else {
            if !pool.isListed { pool = pool.client.pool(for: pool.key) }
            return pool
        }
        if suspects.isListed { return suspects }
        let fresh = suspects.client.pool(for: suspects.key)
        self.suspects = fresh
        return fresh
    }

    /// Returns the pool unretained, for one call that does not ask for another pool.
    func unmanagedPool(isSuspect: Bool) -> Unmanaged<ConnectionPool> {
        if !isSuspect, unsafe currentPool._withUnsafeGuaranteedRef({ $0.isListed }) {
            return unsafe currentPool
        }
        return unsafe .passUnretained(pool(isSuspect: isSuspect))
    }

    private func encodeHeaders(bearer: String) throws(HeaderFieldError) -> RequestTemplate {
        let varying =
            switch pathKind {
            case .device: "apns-id"
            case .fixed: "apns-request-id"
            }
        return try RequestTemplate(
            method: method, authority: pool.key.endpoint.authority,
            headers: [HeaderField(name: "authorization", value: bearer)] + headers, varying: varying)
    }

    func request(with bearer: BearerToken) -> RequestTemplate {
        if let encoded, bearer.revision == encodedRevision { return encoded }
        // Everything but the bearer was checked in `init`, and a bearer is base64.
        guard let fresh = try? encodeHeaders(bearer: bearer.text) else {
            preconditionFailure("bearer is no valid header")
        }
        encoded = fresh
        encodedRevision = bearer.revision
        return fresh
    }
}

/// The headers of a push to a token.
package struct LiveActivityHeaders: Sendable, Hashable {
    /// `<bundle id>.push-type.liveactivity`
    package var topic: String
    package var priority: PushPriority
    /// Seconds since 1970. 0 means that APNs tries to deliver only once.
    package var expiration: Int64
    package var collapseID: String?

    package init(topic: String, priority: PushPriority, expiration: Int64, collapseID: String? = nil) {
        self.topic = topic
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
    }

    var fields: [HeaderField] {
        var fields = [
            HeaderField(name: "apns-push-type", value: "liveactivity"),
            HeaderField(name: "apns-topic", value: topic),
            HeaderField(name: "apns-priority", value: String(priority.rawValue)),
            HeaderField(name: "apns-expiration", value: String(expiration)),
        ]
        if let collapseID { fields.append(HeaderField(name: "apns-collapse-id", value: collapseID)) }
        return fields
    }
}

/// The headers of a broadcast. Apple requires all four.
package struct BroadcastHeaders: Sendable, Hashable {
    package var channelID: String
    package var priority: PushPriority
    /// Seconds since 1970. Must be 0 for a channel that stores no message.
    package var expiration: Int64

    package init(channelID: String, priority: PushPriority, expiration: Int64) {
        self.channelID = channelID
        self.priority = priority
        self.expiration = expiration
    }

    var fields: [HeaderField] {
        [
            HeaderField(name: "apns-push-type", value: "liveactivity"),
            HeaderField(name: "apns-channel-id", value: channelID),
            HeaderField(name: "apns-priority", value: String(priority.rawValue)),
            HeaderField(name: "apns-expiration", value: String(expiration)),
        ]
    }
}
