/// The names of the answer fields that a client keeps. The length of the name already rules out most fields.
@safe struct KeptFields {
    private let names: [StaticString]
    private let lengths: UInt64

    init(names: [StaticString]) {
        precondition(names.allSatisfy { $0.utf8CodeUnitCount < 64 }, "a name must be shorter than 64 bytes")
        self.names = names
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8CodeUnitCount) }
    }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count < 64, lengths & (1 << UInt64(name.count)) != 0 else { return false }
        return names.contains { unsafe name.isEqual(to: $0) }
    }
}
