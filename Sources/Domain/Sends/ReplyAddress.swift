internal import Identifiers
package import JSON

/// The address of an HTTP request that waits at a gateway for the reply of another stage. A `Send` or a schedule command
/// carries it, and the reply is a record of `replies`.
package struct ReplyAddress: Sendable, Hashable {
    /// The partition of `replies` that the request's gateway reads.
    package var partition: Int32
    /// The request's id, as its gateway chose it.
    package var request: String

    package init(partition: Int32, request: String) {
        self.partition = partition
        self.request = request
    }
}

extension JSONWriter {
    /// Writes the address as an object. Without an address it writes nothing.
    package mutating func field(_ name: StaticString, _ address: ReplyAddress?) {
        guard let address else { return }
        self.name(name)
        beginObject()
        field("partition", Int(address.partition))
        field("request", address.request)
        endObject()
    }
}

extension JSONValue {
    package func replyAddress() -> ReplyAddress {
        let object = object()
        return ReplyAddress(
            partition: Int32(object["partition"].int(in: 0...Int(Int32.max))),
            request: object["request"].name())
    }
}
