public import CSimdJSON

/// The document that a `JSONReader` has read last: the index that the C++ parser made, and the problems that
/// decoding has reported. Each `JSONValue` points to it. It lives as long as the reader, and each `read`
/// fills it again.
///
/// The index (`json_document` of `CSimdJSON`) is an array of nodes in the order of the document: a value,
/// then the values in it. A node's `next` is the first node after them.
@usableFromInline
@safe struct JSONDocument {
    /// The bit in a node's `kind` that marks a member that was requested.
    @inlinable @inline(always) static var requestedFlag: UInt32 { 0x100 }
    @inlinable @inline(always) static var kindMask: UInt32 { 0xFF }

    @usableFromInline var index = unsafe json_document()
    /// The number of the read. It differs from the number in a value that is kept after its read.
    @usableFromInline var generation: UInt32 = 0
    var problemsMax = 0
    /// At most `problemsMax` problems. `unlistedCount` counts the others.
    var problems: [JSONProblem] = []
    var unlistedCount = 0

    /// Returns true if one more problem may be listed. Otherwise only counts it.
    mutating func admitProblem() -> Bool {
        if problems.count < problemsMax { return true }
        unlistedCount += 1
        return false
    }

    /// Returns the path of a node, followed by the name of a member if given. It walks down from the root, so
    /// paths cost nothing until one is needed.
    func path(of target: Int, member: String? = nil) -> String {
        var path = JSONPath()
        var node = 0
        while node != target {
            let isObject = unsafe index.nodes[node].kind & Self.kindMask == JSON_OBJECT.rawValue
            // The child that contains the target or is it.
            var child = node + 1
            var position = 0
            while unsafe Int(index.nodes[child].next) <= target {
                unsafe child = Int(index.nodes[child].next)
                position += 1
            }
            if isObject { path.append(name: name(of: child)) } else { path.append(index: position) }
            node = child
        }
        if let member { path.append(name: member) }
        return path.text
    }

    /// Returns the name of a member.
    func name(of node: Int) -> String {
        let (start, end) = unsafe (index.nodes[node].key_start, index.nodes[node].key_end)
        return unsafe String(
            decoding: UnsafeBufferPointer(start: index.text + Int(start), count: Int(end - start)),
            as: UTF8.self)
    }
}

extension json_node {
    /// The number of elements of an array or of members of an object.
    @inlinable @inline(always) var childCount: Int { Int(low) }
}
