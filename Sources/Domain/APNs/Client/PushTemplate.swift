internal import HTTP2
internal import LiveActivity

/// The headers and body that all pushes of one send share, encoded once. A client makes it and uses it on its
/// loop only. The header block is encoded again when the provider token changes.
@safe package final class PushTemplate {
    enum Kind {
        /// A push to one token, which ends the path.
        case device
        /// A broadcast to a channel, or a request about channels. The path is fixed.
        case fixed(path: [UInt8])
    }

    let kind: Kind
    private(set) var pool: ConnectedPool {
        didSet { unsafe lent = .passUnretained(pool) }
    }
    /// The pool, unretained. Thousands of pushes then need not count references.
    private var lent: Unmanaged<ConnectedPool>
    /// The pool for suspect tokens. Nil for broadcasts and channel requests.
    private var suspects: ConnectedPool?
    let body: SharedBody?
    private let method: String
    private let headers: [HeaderField]
    private var encoded: RequestTemplate?
    private var encodedRevision = 0
    /// Number of open pushes of this template. Together they hold one reference: one reference for each push
    /// took a twentieth of its time.
    private var pushes = 0

    init(
        _ kind: Kind, method: String = "POST", headers: [HeaderField], body: [UInt8], pool: ConnectedPool,
        suspects: ConnectedPool? = nil
    ) throws(HeaderFault) {
        self.kind = kind
        self.method = method
        self.headers = headers
        self.body = body.isEmpty ? nil : SharedBody(body.span)
        self.pool = pool
        unsafe lent = .passUnretained(pool)
        self.suspects = suspects
        // Encoding here reports a bad header now and not with the first push.
        encoded = try encode("bearer")
    }

    /// Returns the template for one push, which holds it until `letGo`.
    func hold() -> Unmanaged<PushTemplate> {
        pushes += 1
        return unsafe pushes == 1 ? .passRetained(self) : .passUnretained(self)
    }

    static func letGo(_ held: Unmanaged<PushTemplate>) {
        let isLast = unsafe held._withUnsafeGuaranteedRef { template in
            template.pushes -= 1
            return template.pushes == 0
        }
        if isLast { unsafe held.release() }
    }

    /// The app and key of these pushes.
    package var profile: PushProfile { pool.key.profile }

    /// Returns the pool. A pool that was removed because it was idle is created again here.
    func pool(isSuspect: Bool) -> ConnectedPool {
        guard isSuspect, let suspects else {
            if !pool.isListed { pool = pool.client.pool(pool.key) }
            return pool
        }
        if suspects.isListed { return suspects }
        let fresh = suspects.client.pool(suspects.key)
        self.suspects = fresh
        return fresh
    }

    /// Returns the pool unretained, for one call that does not ask for another pool.
    func lentPool(isSuspect: Bool) -> Unmanaged<ConnectedPool> {
        if !isSuspect, unsafe lent._withUnsafeGuaranteedRef({ $0.isListed }) { return unsafe lent }
        return unsafe .passUnretained(pool(isSuspect: isSuspect))
    }

    private func encode(_ bearer: String) throws(HeaderFault) -> RequestTemplate {
        let varying =
            switch kind {
            case .device: "apns-id"
            case .fixed: "apns-request-id"
            }
        return try RequestTemplate(
            method: method, authority: pool.key.endpoint.authority,
            headers: [HeaderField("authorization", bearer)] + headers, varying: varying)
    }

    func request(_ bearer: ProviderBearer) -> RequestTemplate {
        if let encoded, bearer.revision == encodedRevision { return encoded }
        // Everything but the bearer was checked in `init`, and a bearer is base64.
        guard let fresh = try? encode(bearer.text) else { preconditionFailure("bearer is no valid header") }
        encoded = fresh
        encodedRevision = bearer.revision
        return fresh
    }
}

/// The headers of a push to a token.
package struct LiveActivityHeaders: Sendable, Hashable {
    /// `<bundle id>.push-type.liveactivity`
    package var topic: String
    package var priority: Int
    /// Seconds since 1970. 0 means that APNs tries to deliver only once.
    package var expiration: Int64
    package var collapseID: String?

    package init(topic: String, priority: Int, expiration: Int64, collapseID: String? = nil) {
        self.topic = topic
        self.priority = priority
        self.expiration = expiration
        self.collapseID = collapseID
    }

    var fields: [HeaderField] {
        var fields = [
            HeaderField("apns-push-type", "liveactivity"), HeaderField("apns-topic", topic),
            HeaderField("apns-priority", String(priority)),
            HeaderField("apns-expiration", String(expiration)),
        ]
        if let collapseID { fields.append(HeaderField("apns-collapse-id", collapseID)) }
        return fields
    }
}

/// The headers of a broadcast. Apple requires all four.
package struct BroadcastHeaders: Sendable, Hashable {
    package var channelID: String
    package var priority: Int
    /// Seconds since 1970. Must be 0 for a channel that stores no message.
    package var expiration: Int64

    package init(channelID: String, priority: Int, expiration: Int64) {
        self.channelID = channelID
        self.priority = priority
        self.expiration = expiration
    }

    var fields: [HeaderField] {
        [
            HeaderField("apns-push-type", "liveactivity"), HeaderField("apns-channel-id", channelID),
            HeaderField("apns-priority", String(priority)),
            HeaderField("apns-expiration", String(expiration)),
        ]
    }
}
