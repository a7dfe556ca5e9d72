/// Values that many activities share, identified by small numbers. Each value is stored once, as long as it
/// is used.
struct Shared<Value: Hashable> {
    private struct Kept {
        var value: Value?
        var uses = 0
    }

    private var kept: [Kept] = []
    private var numbers: [Value: Int32] = [:]
    private var free: [Int32] = []
    /// Number of the last value. A send brings the same value a million times in a row.
    private var last: Int32 = -1

    /// Upper bound of all numbers.
    var bound: Int { kept.count }
    /// Number of values.
    var count: Int { numbers.count }

    subscript(_ number: Int32) -> Value? { number < 0 ? nil : kept[Int(number)].value }

    func uses(of number: Int32) -> Int { kept[Int(number)].uses }

    func number(of value: Value) -> Int32? { numbers[value] }

    /// Adds one use of the value and returns its number.
    mutating func use(_ value: Value) -> Int32 {
        if last >= 0, kept[Int(last)].value == value {
            kept[Int(last)].uses += 1
            return last
        }
        let number = numbers[value] ?? add(value)
        kept[Int(number)].uses += 1
        last = number
        return number
    }

    private mutating func add(_ value: Value) -> Int32 {
        let number = free.popLast() ?? Int32(kept.count)
        if Int(number) == kept.count { kept.append(Kept()) }
        kept[Int(number)].value = value
        numbers[value] = number
        return number
    }

    /// Removes one use. The last one removes the value.
    mutating func release(_ number: Int32) {
        guard number >= 0 else { return }
        kept[Int(number)].uses -= 1
        guard kept[Int(number)].uses == 0, let value = kept[Int(number)].value else { return }
        kept[Int(number)].value = nil
        numbers[value] = nil
        free.append(number)
        if last == number { last = -1 }
    }
}
