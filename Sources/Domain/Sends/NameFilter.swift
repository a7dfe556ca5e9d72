internal import Identifiers
internal import JSON

/// The names that have rows of their own in a lane: recipients of a group, and activities that sends have named. It may
/// also contain other names, but it lacks none. So a page looks up few of its recipients.
package struct NameFilter: Sendable, Hashable {
    /// The most hashes. With more, the filter contains every name. They are a part of the group's row, two bytes each.
    private static let hashesMax = 1024

    /// The hashes of the names, in order. Nil if the filter contains every name.
    private var hashes: [UInt16]? = []

    package init() {}

    package var isEmpty: Bool { hashes?.isEmpty ?? false }

    package func mayContain(_ name: Span<UInt8>) -> Bool {
        guard let hashes else { return true }
        if hashes.isEmpty { return false }
        let hash = Self.hash(of: name)
        let index = Self.index(of: hash, in: hashes)
        return index < hashes.count && hashes[index] == hash
    }

    package mutating func insert(_ name: String) {
        guard let known = hashes else { return }
        let hash = Self.hash(of: Array(name.utf8).span)
        let index = Self.index(of: hash, in: known)
        if index < known.count, known[index] == hash { return }
        if known.count >= Self.hashesMax { hashes = nil } else { hashes?.insert(hash, at: index) }
    }

    private static func hash(of name: Span<UInt8>) -> UInt16 {
        // FNV-1a, folded to 16 bits.
        var hash: UInt32 = 2_166_136_261
        for index in name.indices { hash = (hash ^ UInt32(name[index])) &* 16_777_619 }
        return UInt16(truncatingIfNeeded: hash ^ hash >> 16)
    }

    /// Returns the index of the first hash that is not below `hash`.
    private static func index(of hash: UInt16, in hashes: [UInt16]) -> Int {
        var (low, high) = (0, hashes.count)
        while low < high {
            let middle = (low + high) / 2
            if hashes[middle] < hash { low = middle + 1 } else { high = middle }
        }
        return low
    }

    // MARK: JSON

    /// Writes whether there are names, and the hashes if the filter does not contain every name.
    func write(to writer: inout JSONWriter) {
        if isEmpty { return }
        writer.field("hasRecipients", true)
        guard let hashes else { return }
        writer.field("recipients", Hex.text(of: hashes.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }))
    }

    init(from record: JSONObject) {
        guard record["hasRecipients"].optional?.bool() ?? false else { return }
        // The version before did not write the hashes. Then the filter contains every name.
        hashes = record["recipients"].optional.map { value in
            let bytes = value.hex()
            return stride(from: 0, to: bytes.count - 1, by: 2).map {
                UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
            }
        }
    }
}
