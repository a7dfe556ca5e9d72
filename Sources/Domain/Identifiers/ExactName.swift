/// A name as the key of a dictionary. Two names are equal only byte by byte, as in the topics. `String` is not suitable,
/// because it ignores differences in Unicode normalization: `é` as one code point and as two would be one key.
package struct ExactName: Sendable, Hashable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package static func == (a: ExactName, b: ExactName) -> Bool { a.text.isExactlyEqual(to: b.text) }

    package func hash(into hasher: inout Hasher) {
        for byte in text.utf8 { hasher.combine(byte) }
    }
}
