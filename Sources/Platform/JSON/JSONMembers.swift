internal import CSimdJSON

/// A sequence of the members of an object, in the order of the document. It is for objects whose names are
/// data, such as tags.
@safe package struct JSONMembers: Sequence, IteratorProtocol {
    private let document: UnsafeMutablePointer<JSONDocument>
    /// The node of the next member.
    private var position: Int
    private let end: Int

    init(document: UnsafeMutablePointer<JSONDocument>, from start: Int, to end: Int) {
        unsafe self.document = unsafe document
        position = start
        self.end = end
    }

    package mutating func next() -> (name: String, value: JSONValue)? {
        guard position < end else { return nil }
        let node = position
        unsafe position = Int(document.pointee.index.nodes[node].next)
        return unsafe (document.pointee.name(of: node), JSONValue(document: document, node: node))
    }
}
