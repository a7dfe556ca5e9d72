/// A note about an answer that was given to a client, for the log.
package struct HTTPAnswerNote: Sendable {
    /// The id in the answer's header `X-Request-Id`.
    package let requestID: String
    /// The method and the pattern of the route, such as `GET /v1/users/{id}`. A path could have the name of a person.
    /// Nil if no route matches.
    package let route: String?
    package let status: Int
}
