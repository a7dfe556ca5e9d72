internal import Glibc

/// The time at which a row of `starts` was written, in milliseconds since 1970. It is read from the encoded
/// record, without decoding the rest.
enum RowTime {
    private static let name = Array(#""at":"#.utf8)
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// The size of a time in a derived row.
    static let byteCount = 8

    /// Appends a time to the value of a derived row.
    static func append(_ time: Int64, to value: inout [UInt8]) {
        for shift in stride(from: 8 * (byteCount - 1), through: 0, by: -8) {
            value.append(UInt8(truncatingIfNeeded: time >> Int64(shift)))
        }
    }

    /// Returns the time at the beginning of a derived row's value, which must be long enough.
    static func number(in value: Span<UInt8>) -> Int64 {
        var time: Int64 = 0
        for index in 0..<byteCount { time = time << 8 | Int64(value[index]) }
        return time
    }

    /// Returns the time of a record in which no free text comes before the time.
    static func first(in record: Span<UInt8>) -> Int64? {
        record.end(ofFirst: name).flatMap { number(from: $0, in: record)?.value }
    }

    /// Returns the time of a record that ends with its time. Free text can come before it.
    static func last(in record: Span<UInt8>) -> Int64? {
        let end = record.count - 1
        guard end > 0, record[end] == UInt8(ascii: "}") else { return nil }
        var start = end
        while start > 0, digits.contains(record[start - 1]) { start -= 1 }
        guard start >= name.count,
            record.extracting(start - name.count..<start).end(ofFirst: name) == name.count
        else { return nil }
        return number(from: start, in: record)?.value
    }

    private static func number(from start: Int, in record: Span<UInt8>) -> (value: Int64, end: Int)? {
        var (value, index): (Int64, Int) = (0, start)
        while index < record.count, digits.contains(record[index]) {
            let (product, productOverflows) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(record[index] - digits.lowerBound)
            let (sum, sumOverflows) = product.addingReportingOverflow(digit)
            if productOverflows || sumOverflows { return nil }
            value = sum
            index += 1
        }
        return index > start ? (value, index) : nil
    }
}

extension Span<UInt8> {
    /// Returns the end of the first occurrence of `bytes`.
    func end(ofFirst bytes: [UInt8]) -> Int? {
        unsafe withUnsafeBytes { own in
            unsafe bytes.withUnsafeBytes { wanted -> Int? in
                guard let begin = own.baseAddress, let first = unsafe wanted.first,
                    let name = wanted.baseAddress
                else { return nil }
                var start = 0
                while start + wanted.count <= own.count {
                    let rest = own.count - wanted.count - start + 1
                    guard let found = unsafe memchr(begin + start, Int32(first), rest) else { return nil }
                    if unsafe memcmp(found, name, wanted.count) == 0 {
                        return unsafe UnsafeRawPointer(found) - begin + wanted.count
                    }
                    start = unsafe UnsafeRawPointer(found) - begin + 1
                }
                return nil
            }
        }
    }
}
