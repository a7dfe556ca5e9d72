/// A set of lanes. Records have its bytes as hexadecimal digits. Each byte stands for eight lanes, and its lowest bit
/// is the lowest of them. For example, the lanes 0 and 10 are `0104`.
package struct LaneSet: Sendable, Hashable {
    private static let lanesPerByte = 8

    /// The bytes, without zeros at the end, so that equal sets have equal bytes.
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package init(_ lanes: some Sequence<Int>) {
        for lane in lanes { insert(lane) }
    }

    package init(bytes: [UInt8]) {
        self.bytes = bytes
        while self.bytes.last == 0 { self.bytes.removeLast() }
    }

    package var isEmpty: Bool { bytes.isEmpty }
    package var count: Int { bytes.reduce(0) { $0 + $1.nonzeroBitCount } }

    package func contains(_ lane: Int) -> Bool {
        let index = lane / Self.lanesPerByte
        return index < bytes.count && bytes[index] & Self.bit(of: lane) != 0
    }

    package mutating func insert(_ lane: Int) {
        precondition(lane >= 0, "lanes are numbered from 0")
        let index = lane / Self.lanesPerByte
        while bytes.count <= index { bytes.append(0) }
        bytes[index] |= Self.bit(of: lane)
    }

    /// The lanes in ascending order.
    package var lanes: [Int] {
        (0..<bytes.count * Self.lanesPerByte).filter(contains)
    }

    private static func bit(of lane: Int) -> UInt8 { 1 << (lane % lanesPerByte) }
}
