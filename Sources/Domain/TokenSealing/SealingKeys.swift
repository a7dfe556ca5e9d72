internal import Cryptography
internal import Glibc
internal import Identifiers

/// The keys of a token seal, as in their file. One key hashes. It never changes, because hashes join records
/// across years. Any number of keys seal: the last one seals new tokens, and all of them can open tokens. To
/// rotate the sealing key, add a line.
///
///     hash 5e…64 digits
///     key 1 90…64 digits
///     key 2 c4…64 digits
package struct SealingKeys: Sendable {
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    let hashKey: SecretBytes
    let numberedKeys: [(number: Int, key: SecretBytes)]

    /// Reads a file that only its owner and the owner's group may read.
    package init(file path: String) throws(Problem) {
        var bytes: [UInt8]
        do {
            bytes = unsafe try SecretBytes.read(file: path).withBytes { unsafe Array($0) }
        } catch {
            throw Problem(description: "the sealing keys cannot be used: \(error)")
        }
        defer { unsafe explicit_bzero(&bytes, bytes.count) }
        do {
            try self.init(lines: bytes[...])
        } catch {
            throw Problem(description: "the sealing keys \(path): \(error.description)")
        }
    }

    /// Reads the lines. An error names the line number and never the content.
    init(lines: ArraySlice<UInt8>) throws(Problem) {
        var hash: SecretBytes?
        var seals: [(number: Int, key: SecretBytes)] = []
        for (index, line) in lines.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            let words = line.split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard let first = words.first, first.first != UInt8(ascii: "#") else { continue }
            guard let digits = words.last, digits.count == 64, let key = Hex.decode(digits) else {
                throw Problem(description: "line \(index + 1) does not end in 64 hexadecimal digits")
            }
            if first.elementsEqual("hash".utf8), words.count == 2 {
                guard hash == nil else {
                    throw Problem(description: "line \(index + 1) is a second hash key; keep only one")
                }
                hash = SecretBytes(copying: key)
            } else if first.elementsEqual("key".utf8), words.count == 3,
                let number = Int(String(decoding: words[1], as: UTF8.self)), (1...999_999).contains(number)
            {
                guard !seals.contains(where: { $0.number == number }) else {
                    throw Problem(
                        description:
                            "line \(index + 1) has the number of an earlier key; use a new number"
                    )
                }
                seals.append((number, SecretBytes(copying: key)))
            } else {
                throw Problem(
                    description: "line \(index + 1) is neither `hash DIGITS` nor `key NUMBER DIGITS`")
            }
        }
        guard let hash, !seals.isEmpty else {
            throw Problem(description: "needs one line `hash DIGITS` and at least one `key NUMBER DIGITS`")
        }
        self.hashKey = hash
        self.numberedKeys = seals
    }

    /// Returns the text of a new file.
    package static func makeText() -> String {
        func digits() -> String { String(decoding: Hex.encode(Random.bytes(count: 32)), as: UTF8.self) }
        return "hash \(digits())\nkey 1 \(digits())\n"
    }
}
