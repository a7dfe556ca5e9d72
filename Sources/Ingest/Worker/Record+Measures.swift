internal import Kafka
internal import LiveActivity

extension Kafka.Record {
    /// Of its key, its value and its headers.
    var bytes: Int {
        var sum = (key?.count ?? 0) + (value?.count ?? 0)
        let list = headers
        for index in 0..<list.count { sum += list[index].name.count + (list[index].value?.count ?? 0) }
        return sum
    }

    /// When a report that was forwarded first came in, by the server's clock; nil for any other.
    var forwardedTime: Int64? {
        guard let header = headers.last(Report.receivedAtHeader), let digits = header.value,
            (1...15).contains(digits.count)
        else { return nil }
        var time: Int64 = 0
        for index in 0..<digits.count {
            guard (0x30...0x39).contains(digits[index]) else { return nil }
            time = time * 10 + Int64(digits[index] - 0x30)
        }
        return time
    }
}
