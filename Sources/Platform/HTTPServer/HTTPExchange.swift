/// One request from its head to its answer: what follows after the body, and how much of the body has
/// arrived. Only the connection's thread uses it.
struct HTTPExchange {
    enum ExchangeState {
        /// The answer is known. The body is still read and discarded, so that the connection stays usable.
        case answer(HTTPResponse)
        /// After the body, this handler returns the answer.
        case respond(HTTPRoutes.ImmediateHandler)
        /// After the body, this handler gets the request.
        case handle(HTTPRoutes.DeferredHandler, keepsBody: Bool)
        /// A deferred handler has the request and fills the slot.
        case waiting(ReplySlot)
        /// The answer is being sent.
        case sending
    }

    /// The request with the body so far. Nil if it was refused, and after a deferred handler has taken it.
    var request: HTTPRequest?
    var state: ExchangeState
    /// The headers that follow from the answer's status.
    let conventions: HTTPConventions
    /// The method and pattern of the route, or nil without a route.
    let route: String?
    let bodyBytesMax: Int
    let closesConnection: Bool
    /// Whether the peer waits for `100 Continue` before it sends the body.
    let expectsContinue: Bool
    /// The bytes of the body that have arrived.
    private(set) var bodyBytes = 0
    /// The bytes that this body has reserved in the server's budget.
    private(set) var reservedBytes = 0
    /// `Content-Length`. Nil if the body comes in chunks.
    private let announcedBytes: Int?

    /// The bytes beyond the limit that are read and discarded, so that a peer that has already sent them gets
    /// its answer. A peer that sends more is cut.
    static let discardedBytesMax = 1 << 20
    /// The first reservation. A reservation doubles as bytes arrive, so an announced length alone uses no
    /// memory.
    private static let reservedBytesMin = 4096

    init(decoded: RequestHead.DecodedHead, routes: HTTPRoutes, limits: HTTPLimits) throws(HTTPRefusal) {
        var request = decoded.request
        var conventions = HTTPConventions(requestID: request.id)
        switch routes.match(request.method, segments: decoded.segments) {
        case .found(let route, let parameters):
            request.parameters = parameters
            state = Self.initialState(for: route.handler, request: request, conventions: &conventions)
            self.route = route.pattern
            bodyBytesMax = route.bodyBytesMax ?? limits.bodyBytesMax
        case .methodNotAllowed(let methods):
            state = .answer(Self.methodNotAllowed(supporting: methods))
            route = nil
            bodyBytesMax = limits.bodyBytesMax
        case .notFound:
            state = .answer(
                .error(status: 404, code: "not_found", message: "there is no resource at \(request.path)"))
            bodyBytesMax = limits.bodyBytesMax
            route = nil
        }
        self.conventions = conventions
        announcedBytes = decoded.framing.contentLength
        if let announcedBytes, announcedBytes - bodyBytesMax > Self.discardedBytesMax {
            throw .bodyTooLarge(max: bodyBytesMax)
        }
        expectsContinue = request.headers["expect"] != nil
        closesConnection = decoded.framing.closesConnection
        self.request = request
    }

    init(refused refusal: HTTPRefusal, requestID: String) {
        state = .answer(refusal.response)
        conventions = HTTPConventions(requestID: requestID)
        route = nil
        bodyBytesMax = 0
        closesConnection = true
        expectsContinue = false
        announcedBytes = nil
    }

    private static func initialState(
        for handler: HTTPRoutes.Handler, request: HTTPRequest, conventions: inout HTTPConventions
    ) -> ExchangeState {
        switch handler {
        case .immediate(let respond): return .respond(respond)
        case .deferred(let handle): return .handle(handle, keepsBody: true)
        case .admission(let admit):
            switch admit(request) {
            case .admitted(let limitHeaders, let handle):
                conventions.limitHeaders = limitHeaders
                return .handle(handle, keepsBody: true)
            case .refusedLater(let handle): return .handle(handle, keepsBody: false)
            case .refused(let response): return .answer(response)
            }
        }
    }

    /// Receives a part of the body. Throws if the connection must be cut.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, budget: MemoryBudget) throws(HTTPRefusal) {
        bodyBytes += bytes.count
        if bodyBytes <= bodyBytesMax {
            guard keepsBody else { return }
            guard reserve(bytes: bodyBytes, in: budget) else {
                return answer(HTTPServerState.bodiesFull, budget: budget)
            }
            unsafe request?.body.append(contentsOf: bytes)
            return
        }
        // The body is too long. A part beyond the limit is read, so that the peer receives the answer.
        let refusal = HTTPRefusal.bodyTooLarge(max: bodyBytesMax)
        if bodyBytes - bodyBytesMax > Self.discardedBytesMax { throw refusal }
        answer(refusal.response, budget: budget)
    }

    private var keepsBody: Bool {
        switch state {
        case .respond, .handle(_, keepsBody: true): true
        case .answer, .handle(_, keepsBody: false), .waiting, .sending: false
        }
    }

    /// Sets the answer and discards the body, including the parts that follow.
    private mutating func answer(_ response: HTTPResponse, budget: MemoryBudget) {
        request?.body = []
        release(to: budget)
        state = .answer(response)
    }

    /// Reserves memory for a body of this length. Returns false if the server's budget is used up.
    private mutating func reserve(bytes: Int, in budget: MemoryBudget) -> Bool {
        guard bytes > reservedBytes else { return true }
        let doubled = max(2 * reservedBytes, Self.reservedBytesMin)
        // Not more than the announced length, unless the body is longer.
        let reservation = max(bytes, min(doubled, announcedBytes ?? .max))
        guard budget.reserve(bytes: reservation - reservedBytes) else { return false }
        reservedBytes = reservation
        request?.body.reserveCapacity(reservation)
        return true
    }

    /// Releases the reservation, after the handler took over the body or the body was discarded.
    mutating func release(to budget: MemoryBudget) {
        budget.release(bytes: reservedBytes)
        reservedBytes = 0
    }

    private static func methodNotAllowed(supporting methods: [HTTPMethod]) -> HTTPResponse {
        let names = methods.map(\.rawValue).joined(separator: ", ")
        var response = HTTPResponse.error(
            status: 405, code: "method_not_allowed", message: "this path supports \(names)")
        response.headers.add("Allow", value: names)
        return response
    }
}
