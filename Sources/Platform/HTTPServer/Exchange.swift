/// One request from its head to its answer. Only the server's thread uses it.
struct Exchange {
    enum Course {
        /// The answer is known. The body is still read, so that the connection stays usable.
        case answer(HTTPResponse)
        case respond(HTTPRoutes.Respond)
        case handle(HTTPRoutes.Defer, keepsBody: Bool)
        /// A deferred handler has the request.
        case waiting(ReplySlot)
    }

    var request: HTTPRequest?
    var course: Course
    let bodyBytesMax: Int
    let closes: Bool
    /// Whether the peer waits for `100 Continue` before it sends the body.
    let asksFirst: Bool
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

    init(_ decoded: RequestHead.Decoded, routes: HTTPRoutes, limits: HTTPLimits) throws(HTTPRefusal) {
        var request = decoded.request
        switch routes.match(request.method, decoded.segments) {
        case .found(let route, let parameters):
            request.parameters = parameters
            course = Self.course(route.handler, request)
            bodyBytesMax = route.bodyBytesMax ?? limits.bodyBytesMax
        case .otherMethods(let methods):
            course = .answer(Self.methodNotAllowed(methods))
            bodyBytesMax = limits.bodyBytesMax
        case .nothing:
            course = .answer(.error(404, "not_found", message: "there is no resource at \(request.path)"))
            bodyBytesMax = limits.bodyBytesMax
        }
        announcedBytes = decoded.framing.contentLength
        if let announcedBytes, announcedBytes - bodyBytesMax > Self.discardedBytesMax {
            throw .bodyTooLarge(max: bodyBytesMax)
        }
        asksFirst = request.headers["expect"] != nil
        closes = decoded.framing.closes
        self.request = request
    }

    init(refused refusal: HTTPRefusal) {
        course = .answer(refusal.response)
        bodyBytesMax = 0
        closes = true
        asksFirst = false
        announcedBytes = nil
    }

    private static func course(_ handler: HTTPRoutes.Handler, _ request: HTTPRequest) -> Course {
        switch handler {
        case .immediate(let respond): return .respond(respond)
        case .deferred(let handle): return .handle(handle, keepsBody: true)
        case .judged(let judge):
            switch judge(request) {
            case .admitted(let handle): return .handle(handle, keepsBody: true)
            case .refusedLater(let handle): return .handle(handle, keepsBody: false)
            case .refused(let response): return .answer(response)
            }
        }
    }

    /// Takes a part of the body. Throws if the connection must be cut.
    mutating func receive(_ bytes: UnsafeRawBufferPointer, room: BodyRoom) throws(HTTPRefusal) {
        bodyBytes += bytes.count
        if bodyBytes <= bodyBytesMax {
            guard keepsBody else { return }
            guard reserve(bodyBytes, in: room) else { return answer(HTTPServerCore.bodiesFull, room) }
            unsafe request?.body.append(contentsOf: bytes)
            return
        }
        let refusal = HTTPRefusal.bodyTooLarge(max: bodyBytesMax)
        if bodyBytes - bodyBytesMax > Self.discardedBytesMax { throw refusal }
        answer(refusal.response, room)
    }

    private var keepsBody: Bool {
        switch course {
        case .respond, .handle(_, keepsBody: true): true
        case .answer, .handle(_, keepsBody: false), .waiting: false
        }
    }

    /// Sets the answer and discards the body, including the parts that follow.
    private mutating func answer(_ response: HTTPResponse, _ room: BodyRoom) {
        request?.body = []
        release(to: room)
        course = .answer(response)
    }

    private mutating func reserve(_ bytes: Int, in room: BodyRoom) -> Bool {
        guard bytes > reservedBytes else { return true }
        let grown = max(bytes, 2 * reservedBytes, Self.reservedBytesMin)
        let wanted = max(bytes, min(grown, announcedBytes ?? grown))
        guard room.take(wanted - reservedBytes) else { return false }
        reservedBytes = wanted
        request?.body.reserveCapacity(wanted)
        return true
    }

    /// Releases the reservation, after the handler took over the body or the body was discarded.
    mutating func release(to room: BodyRoom) {
        room.giveBack(reservedBytes)
        reservedBytes = 0
    }

    private static func methodNotAllowed(_ methods: [HTTPMethod]) -> HTTPResponse {
        let names = methods.map(\.rawValue).joined(separator: ", ")
        var response = HTTPResponse.error(405, "method_not_allowed", message: "this path supports \(names)")
        response.headers.add("Allow", names)
        return response
    }
}
