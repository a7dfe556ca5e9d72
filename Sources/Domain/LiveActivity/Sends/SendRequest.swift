package import JSON

/// A record of `sends` or `sends.timed`.
package enum SendRequest: Sendable, Hashable {
    case send(Send)
    case cancel(Cancel)
    case enquiry(Enquiry)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader) throws(RecordError)
        -> SendRequest
    {
        // All kinds have the same version, because they share the topic.
        try unsafe Send.read(bytes, with: reader) { object in
            if !object["cancels"].isMissing { return .cancel(Cancel(from: object)) }
            if !object["enquiry"].isMissing { return .enquiry(Enquiry(from: object)) }
            return .send(Send(from: object))
        }
    }

    package static func decode(_ bytes: [UInt8], with reader: JSONReader) throws(RecordError) -> SendRequest {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(RecordError) in
            try unsafe decode(bytes, with: reader)
        }
    }

    package var groupKey: GroupKey? {
        switch self {
        case .send(let send): send.groupKey
        case .cancel(let cancel): cancel.groupKey
        case .enquiry(let enquiry): enquiry.groupKey
        }
    }
}
