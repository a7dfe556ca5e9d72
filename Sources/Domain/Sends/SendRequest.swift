package import JSON
package import RecordFormat

/// Any record of `sends`, `sends.timed` or `subscriptions`: the requests that the planner reads.
package enum SendRequest: Sendable, Hashable {
    case send(Send)
    case cancellation(Cancellation)
    case subscription(Subscription)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> SendRequest
    {
        // All kinds have the same version, because they share the topic.
        try unsafe Send.read(bytes, with: reader) { object in
            if !object["cancels"].isMissing { return .cancellation(Cancellation(from: object)) }
            if Subscription.isSubscription(object) { return .subscription(Subscription(from: object)) }
            return .send(Send(from: object))
        }
    }

    package static func decode(_ bytes: [UInt8], with reader: JSONReader) throws(RecordDecodingError)
        -> SendRequest
    {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe decode(bytes, with: reader)
        }
    }

    package var scopeKey: ScopeKey? {
        switch self {
        case .send(let send): send.scopeKey
        case .cancellation(let cancellation): cancellation.scopeKey
        case .subscription(let subscription): subscription.scopeKey
        }
    }
}
