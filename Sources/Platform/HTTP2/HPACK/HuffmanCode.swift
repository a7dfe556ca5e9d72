/// A decoder of the Huffman code of HPACK (RFC 7541, appendix B). The code is canonical: all codes follow
/// from their lengths, because codes of one length ascend with their symbols.
///
/// A code of at most eight bits, as most characters of headers have, needs one lookup in `shortTable`. One
/// decoder serves the process and is never freed.
@safe final class HuffmanCode: Sendable {
    static let shared = HuffmanCode()

    /// The symbol that marks the end of a string, which must not occur.
    private static let endOfString = 256
    private static let lookupBits = 8
    /// The length of the longest code.
    private static let bitsMax = 30

    /// Indexed by the next eight bits: the symbol in the high byte, and the length of its code in the low
    /// byte. 0 if the code is longer.
    private nonisolated(unsafe) let shortTable: UnsafeMutablePointer<UInt16>
    // Indexed by the length of codes: the first code of this length, the number of such codes, and the position
    // of the first code's symbol in `symbols`.
    private let firstCodes: [UInt32]
    private let codeCounts: [UInt32]
    private let firstPositions: [Int]
    /// All symbols in the order of their codes.
    private let symbols: [UInt16]

    private init() {
        let lengths = HuffmanCode.lengths
        let symbolsInOrder = lengths.indices.sorted { (lengths[$0], $0) < (lengths[$1], $1) }
        var firstCodes = [UInt32](repeating: 0, count: HuffmanCode.bitsMax + 1)
        var codeCounts = firstCodes
        var firstPositions = [Int](repeating: 0, count: HuffmanCode.bitsMax + 1)
        unsafe shortTable = .allocate(capacity: 1 << HuffmanCode.lookupBits)
        unsafe shortTable.initialize(repeating: 0, count: 1 << HuffmanCode.lookupBits)
        var code: UInt32 = 0
        var codeLength = 0
        for (position, symbol) in symbolsInOrder.enumerated() {
            let length = Int(lengths[symbol])
            code <<= UInt32(length - codeLength)
            codeLength = length
            if codeCounts[length] == 0 {
                firstCodes[length] = code
                firstPositions[length] = position
            }
            codeCounts[length] += 1
            if length <= HuffmanCode.lookupBits {
                // The bits after a short code can have any value.
                let followingBits = HuffmanCode.lookupBits - length
                for following in 0..<(1 << followingBits) {
                    unsafe shortTable[Int(code) << followingBits | following] =
                        UInt16(symbol) << 8 | UInt16(length)
                }
            }
            code += 1
        }
        self.firstCodes = firstCodes
        self.codeCounts = codeCounts
        self.firstPositions = firstPositions
        symbols = symbolsInOrder.map { UInt16($0) }
    }

    /// Returns the maximum number of decoded bytes. The shortest code has five bits.
    static func decodedBytesMax(forEncodedBytes count: Int) -> Int { count * 8 / 5 + 1 }

    /// Writes the decoded string and returns its length, or nil if the code is invalid. `output` must have
    /// `decodedBytesMax` bytes.
    func decode(_ source: UnsafeRawBufferPointer, into output: UnsafeMutableRawPointer) -> Int? {
        // The low `bitCount` bits of `bits` are still to be decoded.
        var bits: UInt64 = 0
        var bitCount = 0
        var index = 0
        var written = 0
        while true {
            while bitCount <= UInt64.bitWidth - UInt8.bitWidth, index < source.count {
                bits = unsafe bits << 8 | UInt64(source[index])
                bitCount += 8
                index += 1
            }
            let symbol: Int
            if let short = shortCode(in: bits, bitCount: bitCount) {
                symbol = Int(short >> 8)
                bitCount -= Int(short & 0xFF)
            } else if let long = longCode(in: bits, bitCount: bitCount) {
                symbol = long.symbol
                bitCount -= long.length
            } else {
                // Fewer than eight one bits may pad the last byte.
                let mask: UInt64 = (1 << UInt64(bitCount)) - 1
                return bitCount < 8 && bits & mask == mask ? written : nil
            }
            guard symbol != HuffmanCode.endOfString else { return nil }
            unsafe output.storeBytes(of: UInt8(symbol), toByteOffset: written, as: UInt8.self)
            written += 1
        }
    }

    /// Returns the entry of `shortTable` for the next code. Returns nil if the code is longer, or if only
    /// padding remains.
    @inline(__always) private func shortCode(in bits: UInt64, bitCount: Int) -> UInt16? {
        // At the end of the string, ones take the place of missing bits.
        let nextBits =
            bitCount >= HuffmanCode.lookupBits
            ? bits >> UInt64(bitCount - HuffmanCode.lookupBits)
            : bits << UInt64(HuffmanCode.lookupBits - bitCount) | (0xFF >> UInt64(bitCount))
        let entry = unsafe shortTable[Int(nextBits & 0xFF)]
        let codeLength = Int(entry & 0xFF)
        return entry != 0 && codeLength <= bitCount ? entry : nil
    }

    /// Returns the next code, which is longer than eight bits, or nil if it is not complete.
    private func longCode(in bits: UInt64, bitCount: Int) -> (symbol: Int, length: Int)? {
        var length = HuffmanCode.lookupBits + 1
        while length <= min(bitCount, HuffmanCode.bitsMax) {
            let code =
                UInt32(truncatingIfNeeded: bits >> UInt64(bitCount - length)) & ((1 << UInt32(length)) - 1)
            if code >= firstCodes[length], code - firstCodes[length] < codeCounts[length] {
                return (Int(symbols[firstPositions[length] + Int(code - firstCodes[length])]), length)
            }
            length += 1
        }
        return nil
    }

    /// Code lengths in bits of each byte and of the end of a string.
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
        30,
    ]
}
