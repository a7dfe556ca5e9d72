public import CSimdJSON

/// A reader's state: the index of the current document and the problems of its decoding. Values point to it.
/// It lives as long as the reader, and every `read` refills it.
@usableFromInline
@safe struct JSONDocument {
    /// The flag in a node's `kind` that marks a member as requested.
    @inlinable @inline(always) static var requestedFlag: UInt32 { 0x100 }
    @inlinable @inline(always) static var kindMask: UInt32 { 0xFF }

    @usableFromInline var index = unsafe json_document()
    /// A counter that grows with every read. It exposes values that are kept beyond their document.
    @usableFromInline var generation: UInt32 = 0
    var problemsMax = 0
    var problems: [JSONProblem] = []
    var unlistedCount = 0

    /// Returns true if one more problem may be listed. Otherwise only counts it.
    mutating func mayListProblem() -> Bool {
        if problems.count < problemsMax { return true }
        unlistedCount += 1
        return false
    }

    /// Returns the path of a node by walking down to it. Paths cost nothing until one is needed.
    func path(of target: Int, member: String? = nil) -> String {
        var path = JSONPath()
        var node = 0
        while node != target {
            let isObject = unsafe index.nodes[node].kind & Self.kindMask == JSON_OBJECT.rawValue
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

    func name(of node: Int) -> String {
        let (start, end) = unsafe (index.nodes[node].key_start, index.nodes[node].key_end)
        return unsafe String(
            decoding: UnsafeBufferPointer(start: index.text + Int(start), count: Int(end - start)),
            as: UTF8.self)
    }
}
