internal import Cryptography
internal import Glibc
internal import Identifiers

/// The secret keys of a `TokenSeal`, read from a file with one key in each line, as 64 hexadecimal digits:
///
///     hash 5e…
///     key 1 90…
///     key 2 c4…
///
/// The hash key never changes, because hashes join records across years. Of the numbered keys, the last one
/// seals new tokens, and each can open the tokens that it sealed. To rotate the sealing key, add a line.
package struct SealingKeys: Sendable {
    /// The reason why the keys cannot be used, and the remedy.
    package struct Problem: Error, CustomStringConvertible {
        package let description: String
    }

    /// The valid numbers of keys.
    static let numberRange = 1...999_999
    private static let keyDigits = 64

    let hashKey: SecretBytes
    /// The sealing keys in the order of the file, the newest one last.
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

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }

    /// Reads the lines. An error names the line number and never the content.
    init(lines: ArraySlice<UInt8>) throws(Problem) {
        var hashKey: SecretBytes?
        var numberedKeys: [(number: Int, key: SecretBytes)] = []
        let lines = lines.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = line.split(whereSeparator: Self.isSpace)
            // Skips an empty line or a comment.
            guard let keyword = words.first, keyword.first != UInt8(ascii: "#") else { continue }
            guard let digits = words.last, digits.count == Self.keyDigits, let key = Hex.decode(digits) else {
                throw Problem(description: "line \(index + 1) does not end in 64 hexadecimal digits")
            }
            if keyword.elementsEqual("hash".utf8), words.count == 2 {
                guard hashKey == nil else {
                    throw Problem(description: "line \(index + 1) is a second hash key; keep only one")
                }
                hashKey = SecretBytes(copying: key)
            } else if keyword.elementsEqual("key".utf8), words.count == 3,
                let number = Int(String(decoding: words[1], as: UTF8.self)), Self.numberRange.contains(number)
            {
                guard !numberedKeys.contains(where: { $0.number == number }) else {
                    throw Problem(
                        description:
                            "line \(index + 1) has the number of an earlier key; use a new number"
                    )
                }
                numberedKeys.append((number, SecretBytes(copying: key)))
            } else {
                throw Problem(
                    description: "line \(index + 1) is neither `hash DIGITS` nor `key NUMBER DIGITS`")
            }
        }
        guard let hashKey, !numberedKeys.isEmpty else {
            throw Problem(description: "needs one line `hash DIGITS` and at least one `key NUMBER DIGITS`")
        }
        self.hashKey = hashKey
        self.numberedKeys = numberedKeys
    }

    /// Returns the text of a new file with random keys.
    package static func makeText() -> String {
        func digits() -> String {
            String(decoding: Hex.encode(Random.bytes(count: keyDigits / 2)), as: UTF8.self)
        }
        return "hash \(digits())\nkey 1 \(digits())\n"
    }
}
