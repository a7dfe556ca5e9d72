package import JSON
package import RecordFormat

/// Any record of `expansions.urgent` or `expansions`.
package indirect enum ExpansionRequest: Sendable, Hashable {
    case expansion(Expansion)
    case stop(StopInstruction)
    case subscriptionAnswer(SubscriptionAnswer)

    package static func decode(_ bytes: UnsafeRawBufferPointer, with reader: JSONReader)
        throws(RecordDecodingError)
        -> ExpansionRequest
    {
        // All kinds have the same version, because they share the topic.
        try unsafe Expansion.read(bytes, with: reader) { object in
            if !object["stops"].isMissing { return .stop(StopInstruction(from: object)) }
            if !object["subscribed"].isMissing {
                return .subscriptionAnswer(SubscriptionAnswer(from: object))
            }
            return .expansion(Expansion(from: object))
        }
    }

    package static func decode(_ bytes: [UInt8], with reader: JSONReader) throws(RecordDecodingError)
        -> ExpansionRequest
    {
        try unsafe bytes.span.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe decode(bytes, with: reader)
        }
    }
}
