/// One request on its way to its answer. Touched by the server's thread only.
struct Exchange {
    enum Course {
        /// The answer is known; at most the body is still read, so that the connection stays usable.
        case answer(HTTPResponse)
        case handler(HTTPRoutes.Handler)
        /// A deferred handler has it.
        case waiting(ReplySlot)
    }

    var request: HTTPRequest?
    var course: Course
    let bodyBytesMax: Int
    let closes: Bool
    private(set) var bodyBytes = 0

    /// Bytes beyond the limit that are read and thrown away, so that a peer that has sent them already
    /// hears why; of one that goes on the connection is cut.
    static let discardedBytesMax = 1 << 20
    /// What a peer that only announces a body may make us set aside for it.
    private static let reservedBytesMax = 64 * 1024

    init(_ decoded: RequestHead.Decoded, routes: HTTPRoutes, limits: HTTPLimits) throws(HTTPRefusal) {
        var request = decoded.request
        switch routes.match(request.method, decoded.segments) {
        case .found(let route, let parameters):
            request.parameters = parameters
            course = .handler(route.handler)
            bodyBytesMax = route.bodyBytesMax ?? limits.bodyBytesMax
        case .otherMethods(let methods):
            course = .answer(Self.methodNotAllowed(methods))
            bodyBytesMax = limits.bodyBytesMax
        case .nothing:
            course = .answer(.error(404, "not_found", "there is nothing at \(request.path)"))
            bodyBytesMax = limits.bodyBytesMax
        }
        let announced = decoded.framing.contentLength ?? 0
        if announced - bodyBytesMax > Self.discardedBytesMax { throw .bodyTooLarge(max: bodyBytesMax) }
        if announced <= bodyBytesMax { request.body.reserveCapacity(min(announced, Self.reservedBytesMax)) }
        closes = decoded.framing.closes
        self.request = request
    }

    init(refused refusal: HTTPRefusal) {
        course = .answer(refusal.response)
        bodyBytesMax = 0
        closes = true
    }

    /// Takes a part of the body; throws when the connection must be cut.
    mutating func receive(_ bytes: UnsafeRawBufferPointer) throws(HTTPRefusal) {
        bodyBytes += bytes.count
        if bodyBytes <= bodyBytesMax {
            if case .handler = course { unsafe request?.body.append(contentsOf: bytes) }
            return
        }
        let refusal = HTTPRefusal.bodyTooLarge(max: bodyBytesMax)
        if bodyBytes - bodyBytesMax > Self.discardedBytesMax { throw refusal }
        request?.body = []
        course = .answer(refusal.response)
    }

    private static func methodNotAllowed(_ methods: [HTTPMethod]) -> HTTPResponse {
        let names = methods.map(\.rawValue).joined(separator: ", ")
        var response = HTTPResponse.error(405, "method_not_allowed", "this path knows \(names)")
        response.headers.add("Allow", names)
        return response
    }
}
