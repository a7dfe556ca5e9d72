public import CSimdJSON

/// A value in the document that a `JSONReader` has read, or the place of a member that is missing.
///
/// A value is valid until the reader's closure returns, and must never be stored. Its accessors report a
/// problem, with the path of the value, if it is not as expected (`JSONReader.read`).
@usableFromInline
@safe package struct JSONValue {
    @usableFromInline let document: UnsafeMutablePointer<JSONDocument>
    /// The value's node, or `missing` or `absent`.
    @usableFromInline let nodeNumber: Int32
    /// The node of the object that lacks the member. Only for a missing value.
    @usableFromInline let parent: Int32
    /// The name of the missing member. Only for a missing value.
    @usableFromInline let name: StaticString?
    /// `JSONDocument.generation` when the value was made.
    @usableFromInline let generation: UInt32

    /// Stands for a member that an object lacks.
    @inlinable @inline(always) static var missing: Int32 { -1 }
    /// Stands for a member of a value that is missing or not an object. That problem is already reported,
    /// so this value reports none.
    @inlinable @inline(always) static var absent: Int32 { -2 }

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, node: Int) {
        unsafe self.init(
            document: document, nodeNumber: Int32(truncatingIfNeeded: node), parent: 0, name: nil)
    }

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, missing name: StaticString, inObject object: Int) {
        unsafe self.init(
            document: document, nodeNumber: Self.missing, parent: Int32(truncatingIfNeeded: object),
            name: name)
    }

    @inlinable @inline(always)
    init(absentIn document: UnsafeMutablePointer<JSONDocument>) {
        unsafe self.init(document: document, nodeNumber: Self.absent, parent: 0, name: nil)
    }

    @inlinable @inline(always)
    init(
        document: UnsafeMutablePointer<JSONDocument>, nodeNumber: Int32, parent: Int32, name: StaticString?
    ) {
        unsafe self.document = unsafe document
        self.nodeNumber = nodeNumber
        self.parent = parent
        self.name = name
        unsafe generation = document.pointee.generation
    }

    /// The index of the value's node in `index.nodes`, or nil if there is no value.
    @inlinable var nodeIndex: Int? { nodeNumber >= 0 ? Int(nodeNumber) : nil }

    /// A pointer to the value's node, or nil if there is no value.
    @inlinable @inline(always)
    var node: UnsafeMutablePointer<json_node>? {
        guard nodeNumber >= 0 else { return nil }
        precondition(unsafe generation == document.pointee.generation, "a JSON value outlived its document")
        return unsafe document.pointee.index.nodes + Int(nodeNumber)
    }

    /// The kind, or nil for a missing value. Null has its own kind.
    package var kind: JSONKind? {
        guard let node = unsafe node else { return nil }
        return unsafe JSONKind(json_kind(node.pointee.kind & JSONDocument.kindMask))
    }

    @inlinable package var isMissing: Bool { nodeNumber < 0 }
    @inlinable package var isString: Bool { unsafe matchingNode(ofKind: JSON_STRING) != nil }
    @inlinable package var isNull: Bool { unsafe matchingNode(ofKind: JSON_NULL) != nil }

    /// The value, or nil if it is missing or null.
    @inlinable @inline(always)
    package var optional: JSONValue? {
        guard let node = unsafe node, unsafe node.pointee.kind & JSONDocument.kindMask != JSON_NULL.rawValue
        else { return nil }
        return self
    }

    /// The bytes of the value as written. Empty if the value is missing.
    @inlinable package var raw: UnsafeRawBufferPointer {
        guard let node = unsafe node else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        return unsafe UnsafeRawBufferPointer(
            start: document.pointee.index.text + Int(node.pointee.start),
            count: Int(node.pointee.end - node.pointee.start))
    }

    /// Returns the node if it has this kind.
    @inlinable @inline(always)
    func matchingNode(ofKind kind: json_kind) -> UnsafeMutablePointer<json_node>? {
        guard let node = unsafe node, unsafe node.pointee.kind & JSONDocument.kindMask == kind.rawValue
        else { return nil }
        return unsafe node
    }

    /// The path of the value, also of a missing one.
    package var path: String {
        if let nodeIndex { return unsafe document.pointee.path(of: nodeIndex) }
        guard let name else { return "" }
        return unsafe document.pointee.path(of: Int(parent), member: name.description)
    }

    /// Returns the path of a member, present or missing, whose name is data.
    package func path(ofMember name: String) -> String {
        guard let nodeIndex else { return path }
        return unsafe document.pointee.path(of: nodeIndex, member: name)
    }

    /// Adds a problem of this value to the reader's error. The message follows the path: "must be later than
    /// `start`".
    package func report(_ message: String, as code: JSONProblem.Code = .invalid) {
        if nodeNumber == Self.absent { return }
        // The time for a path grows with the number of siblings, so it is not computed for unlisted problems.
        guard unsafe document.pointee.admitProblem() else { return }
        unsafe document.pointee.problems.append(JSONProblem(path: path, code: code, message: message))
    }

    /// Reports that the value is missing or has another kind than expected.
    @usableFromInline
    func reportWrongKind(wanted: String) {
        if let kind {
            report("must be \(wanted), not \(kind.phrase)", as: .wrongType)
        } else {
            report("is missing; it must be \(wanted)", as: .missing)
        }
    }
}
