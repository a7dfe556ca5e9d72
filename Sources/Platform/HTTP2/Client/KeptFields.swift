/// The set of names of the header fields that outcomes contain. The length of a name already rules out most
/// fields.
@safe struct KeptFields {
    private let names: [StaticString]
    /// A bit for the length of each name.
    private let lengths: UInt64
    private static let nameBytesMax = 63

    init(names: [StaticString]) {
        precondition(
            names.allSatisfy { $0.utf8CodeUnitCount <= Self.nameBytesMax },
            "a name must be shorter than 64 bytes")
        self.names = names
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8CodeUnitCount) }
    }

    func contains(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count <= Self.nameBytesMax, lengths & (1 << UInt64(name.count)) != 0 else { return false }
        return names.contains { unsafe name.isEqual(to: $0) }
    }
}
