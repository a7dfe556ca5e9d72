internal import HTTP2

/// The headers and body that all pushes of one send share, encoded once. A client makes it and uses it on its
/// loop only. The header block is encoded again when the provider token changes.
@safe package final class PushTemplate {
    enum PathKind {
        /// A push to one token: the path is `/3/device/` and the token.
        case device
        /// A broadcast to a channel, or a request about channels. The path is fixed.
        case fixed(path: [UInt8])
    }

    let pathKind: PathKind
    /// The pools. Requests that are not pushes to tokens use the pool of the usual connections.
    private var pools: ByConnections<ConnectionPool> {
        didSet { unsafe usualPool = .passUnretained(pools[.usual]) }
    }
    /// The pool of the usual connections, unretained. Thousands of pushes then need not count references.
    private var usualPool: Unmanaged<ConnectionPool>
    let body: SharedBody?
    private let method: String
    private let headers: [HeaderField]
    /// The encoded headers, with the provider token of `encodedRevision`.
    private var encoded: RequestTemplate?
    private var encodedRevision = 0
    /// Number of open pushes of this template. Together they hold one reference, because counting a reference for each
    /// push took a twentieth of the push's time.
    private var openPushes = 0

    init(
        _ pathKind: PathKind, method: String = "POST", headers: [HeaderField], body: [UInt8],
        pools: ByConnections<ConnectionPool>
    ) throws(HeaderFieldError) {
        self.pathKind = pathKind
        self.method = method
        self.headers = headers
        self.body = body.isEmpty ? nil : SharedBody(copying: body.span)
        self.pools = pools
        unsafe usualPool = .passUnretained(pools[.usual])
        // Encodes once with a placeholder for the provider token, so that a bad header is reported now and not with the
        // first push.
        encoded = try encodeHeaders(bearer: "bearer")
    }

    /// A template for requests that are not pushes to tokens. All use one pool.
    convenience init(
        _ pathKind: PathKind, method: String = "POST", headers: [HeaderField], body: [UInt8],
        pool: ConnectionPool
    ) throws(HeaderFieldError) {
        try self.init(
            pathKind, method: method, headers: headers, body: body, pools: ByConnections(repeating: pool))
    }

    /// Returns the template for one push, which holds it until `releaseAfterPush`.
    func retainForPush() -> Unmanaged<PushTemplate> {
        openPushes += 1
        return unsafe openPushes == 1 ? .passRetained(self) : .passUnretained(self)
    }

    static func releaseAfterPush(_ unmanagedTemplate: Unmanaged<PushTemplate>) {
        let isLastPush = unsafe unmanagedTemplate._withUnsafeGuaranteedRef { template in
            template.openPushes -= 1
            return template.openPushes == 0
        }
        if isLastPush { unsafe unmanagedTemplate.release() }
    }

    /// The app and key of these pushes.
    package var profile: PushProfile { pools[.usual].key.profile }
    /// The client that made the template.
    var client: APNsClient { pools[.usual].client }

    /// Returns the pool for a push. A pool that was removed because it was idle is created again here.
    func pool(for connections: PushConnections) -> ConnectionPool {
        let pool = pools[connections]
        if pool.isListed { return pool }
        let newPool = pool.client.pool(for: pool.key)
        pools[connections] = newPool
        return newPool
    }

    /// Returns the pool unretained, for one call that does not ask for another pool.
    func unmanagedPool(for connections: PushConnections) -> Unmanaged<ConnectionPool> {
        if connections == .usual, unsafe usualPool._withUnsafeGuaranteedRef({ $0.isListed }) {
            return unsafe usualPool
        }
        return unsafe .passUnretained(pool(for: connections))
    }

    private func encodeHeaders(bearer: String) throws(HeaderFieldError) -> RequestTemplate {
        // The header that differs for each request.
        let idHeader =
            switch pathKind {
            case .device: "apns-id"
            case .fixed: "apns-request-id"
            }
        return try RequestTemplate(
            method: method, authority: pools[.usual].key.endpoint.authority,
            headers: [HeaderField(name: "authorization", value: bearer)] + headers, varying: idHeader)
    }

    /// Returns the encoded headers with the provider token.
    func request(with bearer: BearerToken) -> RequestTemplate {
        if let encoded, bearer.revision == encodedRevision { return encoded }
        // Everything but the bearer was checked in `init`, and a bearer is base64.
        guard let newlyEncoded = try? encodeHeaders(bearer: bearer.text) else {
            preconditionFailure("the provider token is not a valid header")
        }
        encoded = newlyEncoded
        encodedRevision = bearer.revision
        return newlyEncoded
    }
}
