/// The outcome of one call of an endpoint.
package enum CallOutcome: Sendable, Equatable {
    /// The endpoint has answered 2xx in time.
    case delivered
    /// The endpoint wants no more calls: it has answered 410.
    case gone
    /// It is unknown whether the endpoint has received the event.
    case failed(reason: String, retryAfterSeconds: Int?)

    /// The outcome of an answer. A redirect is a failure, because its target was not checked and did not get the secret.
    init(status: Int, retryAfterSeconds: Int?) {
        switch status {
        case 200...299: self = .delivered
        case 410: self = .gone
        case 300...399:
            self = .failed(
                reason: "the endpoint answered \(status); redirects are not followed, so set the final URL",
                retryAfterSeconds: nil)
        default:
            self = .failed(reason: "the endpoint answered \(status)", retryAfterSeconds: retryAfterSeconds)
        }
    }

    /// The value of the metric's label.
    var label: String {
        switch self {
        case .delivered: "delivered"
        case .gone: "gone"
        case .failed: "failed"
        }
    }

    static let labels = ["delivered", "gone", "failed"]
}
