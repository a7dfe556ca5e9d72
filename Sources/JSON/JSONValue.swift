public import CSimdJSON

/// A value inside the document that a reader holds now, or where one is missing.
///
/// Borrowed: valid until the reader's closure returns, and never stored. What it finds wrong it
/// notes with the path; see `JSONReader.read`.
@usableFromInline
@safe package struct JSONValue {
    @usableFromInline let document: UnsafeMutablePointer<JSONDocument>
    /// The value's node, or one of the two below.
    @usableFromInline let index: Int32
    /// The object that was asked, when the value is missing.
    @usableFromInline let parent: Int32
    @usableFromInline let name: StaticString?
    @usableFromInline let generation: UInt32

    @inlinable @inline(always) static var missing: Int32 { -1 }
    /// Inside something that was itself not there or not an object, which is already noted.
    @inlinable @inline(always) static var nowhere: Int32 { -2 }

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, node: Int) {
        unsafe self.init(document, index: Int32(truncatingIfNeeded: node), parent: 0, name: nil)
    }

    @inlinable @inline(always)
    init(document: UnsafeMutablePointer<JSONDocument>, missing name: StaticString, inObject object: Int) {
        unsafe self.init(
            document, index: Self.missing, parent: Int32(truncatingIfNeeded: object), name: name)
    }

    @inlinable @inline(always)
    init(nowhereIn document: UnsafeMutablePointer<JSONDocument>) {
        unsafe self.init(document, index: Self.nowhere, parent: 0, name: nil)
    }

    @inlinable @inline(always)
    init(
        _ document: UnsafeMutablePointer<JSONDocument>, index: Int32, parent: Int32, name: StaticString?
    ) {
        unsafe self.document = unsafe document
        self.index = index
        self.parent = parent
        self.name = name
        unsafe generation = document.pointee.generation
    }

    /// The value's position in the index; nil when there is none.
    @inlinable var nodeIndex: Int? { index >= 0 ? Int(index) : nil }

    @inlinable @inline(always)
    var node: UnsafeMutablePointer<json_node>? {
        guard index >= 0 else { return nil }
        precondition(unsafe generation == document.pointee.generation, "a JSON value outlived its document")
        return unsafe document.pointee.index.nodes + Int(index)
    }

    /// Nil for a missing value; null has a kind.
    package var kind: JSONKind? {
        guard let node = unsafe node else { return nil }
        return unsafe JSONKind(json_kind(node.pointee.kind & JSONDocument.kindMask))
    }

    @inlinable package var isMissing: Bool { index < 0 }
    @inlinable package var isString: Bool { unsafe holds(JSON_STRING) != nil }
    @inlinable package var isNull: Bool { unsafe holds(JSON_NULL) != nil }

    /// The value, or nil when it is missing or null.
    @inlinable @inline(always)
    package var optional: JSONValue? {
        guard let node = unsafe node, unsafe node.pointee.kind & JSONDocument.kindMask != JSON_NULL.rawValue
        else { return nil }
        return self
    }

    /// The value as it was written, byte for byte; empty when missing.
    @inlinable package var raw: UnsafeRawBufferPointer {
        guard let node = unsafe node else { return unsafe UnsafeRawBufferPointer(start: nil, count: 0) }
        return unsafe UnsafeRawBufferPointer(
            start: document.pointee.index.text + Int(node.pointee.start),
            count: Int(node.pointee.end - node.pointee.start))
    }

    /// The node if it is of this kind.
    @inlinable @inline(always)
    func holds(_ kind: json_kind) -> UnsafeMutablePointer<json_node>? {
        guard let node = unsafe node, unsafe node.pointee.kind & JSONDocument.kindMask == kind.rawValue
        else { return nil }
        return unsafe node
    }

    /// Where the value is, or would be.
    package var path: String {
        if let nodeIndex { return unsafe document.pointee.path(of: nodeIndex) }
        guard let name else { return "" }
        return unsafe document.pointee.path(of: Int(parent), member: name.description)
    }

    /// Where a member of this name is, or would be, for names that are data.
    package func path(ofMember name: String) -> String {
        guard let nodeIndex else { return path }
        return unsafe document.pointee.path(of: nodeIndex, member: name)
    }

    /// Notes a problem of the caller's own; the message goes on after the path.
    package func report(_ message: String, as code: JSONProblem.Code = .invalid) {
        if index == Self.nowhere { return }
        // Finding the path takes as long as there are siblings: not for what nobody will read.
        guard unsafe document.pointee.listsMore() else { return }
        unsafe document.pointee.problems.append(JSONProblem(path: path, code: code, message: message))
    }

    /// Notes that the value is missing or of another kind than wanted.
    @usableFromInline
    func reportKind(wanted: String) {
        if let kind {
            report("must be \(wanted), not \(kind.phrase)", as: .wrongType)
        } else {
            report("is missing; it must be \(wanted)", as: .missing)
        }
    }
}
