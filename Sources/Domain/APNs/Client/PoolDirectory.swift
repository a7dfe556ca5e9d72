/// The pools of a client that are busy or were used recently, by key and by number.
struct PoolDirectory {
    private(set) var all: [ConnectionPool] = []
    private var poolsByKey: [ConnectionPool.Key: ConnectionPool] = [:]
    private var poolsByNumber: [Int32: ConnectionPool] = [:]
    private var lastNumber: Int32 = 0

    subscript(key: ConnectionPool.Key) -> ConnectionPool? { poolsByKey[key] }
    subscript(number: Int32) -> ConnectionPool? { poolsByNumber[number] }

    /// Returns a number for a new pool. It repeats only after four billion pools.
    mutating func nextNumber() -> Int32 {
        lastNumber &+= 1
        return lastNumber
    }

    mutating func add(_ pool: ConnectionPool) {
        pool.isListed = true
        all.append(pool)
        poolsByKey[pool.key] = pool
        poolsByNumber[pool.number] = pool
    }

    mutating func remove(_ pool: ConnectionPool) {
        pool.isListed = false
        all.removeAll { $0 === pool }
        poolsByNumber[pool.number] = nil
        poolsByKey[pool.key] = nil
    }
}
