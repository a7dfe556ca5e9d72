/// What a route says at the head of a request, whose body has not come yet.
package enum HTTPAdmission: Sendable {
    /// The body is taken, then this has the request and the duty to answer.
    case admitted(HTTPRoutes.Defer)
    /// The body is not kept; the answer is known.
    case refused(HTTPResponse)
    /// The body is not kept; this answers, later if it likes.
    case refusedLater(HTTPRoutes.Defer)
}
