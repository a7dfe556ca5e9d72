/// Values that many activities share, with a count of their uses. Each value is stored once and has a small
/// number, which the activities store. A value without a use is removed, and its number is used again.
struct SharedValues<Value: Hashable> {
    private struct StoredValue {
        var value: Value?
        var uses = 0
    }

    /// Values by number.
    private var storage: [StoredValue] = []
    private var numbers: [Value: Int32] = [:]
    private var freeNumbers: [Int32] = []
    /// Number of the last value. A send brings the same value a million times in a row.
    private var last: Int32 = -1

    /// Exclusive upper bound of all numbers.
    var numberBound: Int { storage.count }
    /// Number of values.
    var count: Int { numbers.count }

    /// The value with this number. Nil for -1 or an unused number.
    subscript(_ number: Int32) -> Value? { number < 0 ? nil : storage[Int(number)].value }

    /// Returns the number of uses of a value.
    func uses(of number: Int32) -> Int { storage[Int(number)].uses }

    /// Returns the number of a value, or nil if no activity has it.
    func number(of value: Value) -> Int32? { numbers[value] }

    /// Adds one use of the value and returns its number.
    mutating func retain(_ value: Value) -> Int32 {
        if last >= 0, storage[Int(last)].value == value {
            storage[Int(last)].uses += 1
            return last
        }
        let number = numbers[value] ?? add(value)
        storage[Int(number)].uses += 1
        last = number
        return number
    }

    private mutating func add(_ value: Value) -> Int32 {
        let number = freeNumbers.popLast() ?? Int32(storage.count)
        if Int(number) == storage.count { storage.append(StoredValue()) }
        storage[Int(number)].value = value
        numbers[value] = number
        return number
    }

    /// Removes one use. The last one removes the value.
    mutating func release(number: Int32) {
        guard number >= 0 else { return }
        storage[Int(number)].uses -= 1
        guard storage[Int(number)].uses == 0, let value = storage[Int(number)].value else { return }
        storage[Int(number)].value = nil
        numbers[value] = nil
        freeNumbers.append(number)
        if last == number { last = -1 }
    }
}
