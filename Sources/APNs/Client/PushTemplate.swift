internal import HTTP2
internal import LiveActivity

/// What all pushes of one send have in common, encoded once: headers and body. Made by a client and
/// used on its loop only. The header block is made anew when the provider token changes.
@safe package final class PushTemplate {
    enum Kind {
        /// To one token: the path ends with it.
        case device
        /// To all subscribers of a channel, or to the channels themselves: the path is fixed.
        case fixed(path: [UInt8])
    }

    let kind: Kind
    private(set) var pool: ConnectedPool {
        didSet { unsafe lent = .passUnretained(pool) }
    }
    /// The same, for pushes, which come in thousands and need not count a reference each.
    private var lent: Unmanaged<ConnectedPool>
    /// For tokens that are not to be trusted; none for broadcasts and channels.
    private var suspects: ConnectedPool?
    let body: SharedBody?
    private let method: String
    private let headers: [HeaderField]
    private var encoded: RequestTemplate?
    private var encodedRevision = 0
    /// Open pushes of it, which hold it by one reference together: to count one for each was a twentieth of what
    /// a push takes.
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
        // What is wrong with a header is told here, not with the first push.
        encoded = try encode("bearer")
    }

    /// For one push, until `letGo`.
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

    /// Whose pushes these are.
    package var profile: PushProfile { pool.key.profile }

    /// A pool that went because nobody needed it comes back here, or another in its place.
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

    /// Likewise, for one call that does not ask for another pool meanwhile.
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
        // All but the bearer was checked when this was made, and a bearer is base64.
        guard let fresh = try? encode(bearer.text) else { preconditionFailure("a bearer that is no header") }
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
    /// Seconds since 1970; 0 is "now or never".
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

/// The headers of a broadcast; Apple requires all four.
package struct BroadcastHeaders: Sendable, Hashable {
    package var channelID: String
    package var priority: Int
    /// Seconds since 1970; must be 0 for a channel that stores no message.
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
