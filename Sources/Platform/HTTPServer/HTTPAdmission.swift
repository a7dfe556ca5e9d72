/// A route's decision about a request, made from the head before the body arrives.
package enum HTTPAdmission: Sendable {
    /// The body is read. Then the handler gets the request, and must answer it. An answer of the class 2xx and a 429 also
    /// get the headers about the caller's limits, unless the answer has them.
    case admitted(limitHeaders: HTTPHeaders = [:], HTTPRoutes.DeferredHandler)
    /// The body is discarded, and this is the answer.
    case refused(HTTPResponse)
    /// The body is discarded, and this handler answers, possibly later.
    case refusedLater(HTTPRoutes.DeferredHandler)
}
