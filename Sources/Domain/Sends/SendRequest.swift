package import JSON
package import RecordFormat

/// Any record of `sends` or `sends.timed`: the requests that the planner reads.
package enum SendRequest: Sendable, Hashable {
    case send(Send)
    case cancellation(Cancellation)
    case groupState(GroupStateRequest)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> SendRequest
    {
        // All kinds have the same version, because they share the topic.
        try unsafe Send.read(bytes, with: reader) { object in
            if !object["cancels"].isMissing { return .cancellation(Cancellation(from: object)) }
            if !object["enquiry"].isMissing { return .groupState(GroupStateRequest(from: object)) }
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
        case .groupState(let request): request.scopeKey
        }
    }
}
