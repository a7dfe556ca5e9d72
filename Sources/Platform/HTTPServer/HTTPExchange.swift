/// One request from its head to its answer. Only the server's thread uses it.
struct HTTPExchange {
    enum ExchangeState {
        /// The answer is known. The body is still read, so that the connection stays usable.
        case answer(HTTPResponse)
        case respond(HTTPRoutes.ImmediateHandler)
        case handle(HTTPRoutes.DeferredHandler, keepsBody: Bool)
        /// A deferred handler has the request.
        case waiting(ReplySlot)
    }

    var request: HTTPRequest?
    var state: ExchangeState
    let bodyBytesMax: Int
    let closesConnection: Bool
    /// Whether the peer waits for `100 Continue` before it sends the body.
    let expectsContinue: Bool
    private(set) var bodyBytes = 0
    /// The bytes that this body has reserved in the server's budget.
    private(set) var reservedBytes = 0
    private let announcedBytes: Int?

    /// The bytes beyond the limit that are read and discarded, so that a peer that has already sent them gets
    /// its answer. A peer that sends more is cut.
    static let discardedBytesMax = 1 << 20
    /// The first reservation. Reservations double as bytes arrive, so an announced length alone uses no
    /// memory.
    private static let reservedBytesMin = 4096

    init(decoded: RequestHead.DecodedHead, routes: HTTPRoutes, limits: HTTPLimits) throws(HTTPRefusal) {
        var request = decoded.request
        switch routes.match(request.method, segments: decoded.segments) {
        case .found(let route, let parameters):
            request.parameters = parameters
            state = Self.initialState(for: route.handler, request: request)
            bodyBytesMax = route.bodyBytesMax ?? limits.bodyBytesMax
        case .methodNotAllowed(let methods):
            state = .answer(Self.methodNotAllowed(supporting: methods))
            bodyBytesMax = limits.bodyBytesMax
        case .notFound:
            state = .answer(
                .error(status: 404, code: "not_found", message: "there is no resource at \(request.path)"))
            bodyBytesMax = limits.bodyBytesMax
        }
        announcedBytes = decoded.framing.contentLength
        if let announcedBytes, announcedBytes - bodyBytesMax > Self.discardedBytesMax {
            throw .bodyTooLarge(max: bodyBytesMax)
        }
        expectsContinue = request.headers["expect"] != nil
        closesConnection = decoded.framing.closesConnection
        self.request = request
    }

    init(refused refusal: HTTPRefusal) {
        state = .answer(refusal.response)
        bodyBytesMax = 0
        closesConnection = true
        expectsContinue = false
        announcedBytes = nil
    }

    private static func initialState(for handler: HTTPRoutes.Handler, request: HTTPRequest) -> ExchangeState {
        switch handler {
        case .immediate(let respond): return .respond(respond)
        case .deferred(let handle): return .handle(handle, keepsBody: true)
        case .admission(let judge):
            switch judge(request) {
            case .admitted(let handle): return .handle(handle, keepsBody: true)
            case .refusedLater(let handle): return .handle(handle, keepsBody: false)
            case .refused(let response): return .answer(response)
            }
        }
    }

    /// Takes a part of the body. Throws if the connection must be cut.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, budget: BodyMemoryBudget) throws(HTTPRefusal) {
        bodyBytes += bytes.count
        if bodyBytes <= bodyBytesMax {
            guard keepsBody else { return }
            guard reserve(bytes: bodyBytes, in: budget) else {
                return answer(HTTPServerState.bodiesFull, budget: budget)
            }
            unsafe request?.body.append(contentsOf: bytes)
            return
        }
        let refusal = HTTPRefusal.bodyTooLarge(max: bodyBytesMax)
        if bodyBytes - bodyBytesMax > Self.discardedBytesMax { throw refusal }
        answer(refusal.response, budget: budget)
    }

    private var keepsBody: Bool {
        switch state {
        case .respond, .handle(_, keepsBody: true): true
        case .answer, .handle(_, keepsBody: false), .waiting: false
        }
    }

    /// Sets the answer and discards the body, including the parts that follow.
    private mutating func answer(_ response: HTTPResponse, budget room: BodyMemoryBudget) {
        request?.body = []
        release(to: room)
        state = .answer(response)
    }

    private mutating func reserve(bytes: Int, in room: BodyMemoryBudget) -> Bool {
        guard bytes > reservedBytes else { return true }
        let grown = max(bytes, 2 * reservedBytes, Self.reservedBytesMin)
        let wanted = max(bytes, min(grown, announcedBytes ?? grown))
        guard room.reserve(bytes: wanted - reservedBytes) else { return false }
        reservedBytes = wanted
        request?.body.reserveCapacity(wanted)
        return true
    }

    /// Releases the reservation, after the handler took over the body or the body was discarded.
    mutating func release(to room: BodyMemoryBudget) {
        room.release(bytes: reservedBytes)
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
