/// A route's decision about a request, made from the head before the body arrives.
package enum HTTPAdmission: Sendable {
    /// The body is read. Then this handler gets the request, and must answer it.
    case admitted(HTTPRoutes.DeferredHandler)
    /// The body is discarded, and this is the answer.
    case refused(HTTPResponse)
    /// The body is discarded, and this handler answers, possibly later.
    case refusedLater(HTTPRoutes.DeferredHandler)
}
