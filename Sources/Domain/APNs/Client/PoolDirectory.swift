/// The pools of a client that are busy or were used recently, by key and by number.
struct PoolDirectory {
    private(set) var all: [ConnectedPool] = []
    private var ofKey: [ConnectedPool.Key: ConnectedPool] = [:]
    private var ofNumber: [Int32: ConnectedPool] = [:]
    private var lastNumber: Int32 = 0

    subscript(key: ConnectedPool.Key) -> ConnectedPool? { ofKey[key] }
    subscript(number: Int32) -> ConnectedPool? { ofNumber[number] }

    mutating func nextNumber() -> Int32 {
        lastNumber &+= 1
        return lastNumber
    }

    mutating func add(_ pool: ConnectedPool) {
        pool.isListed = true
        all.append(pool)
        ofKey[pool.key] = pool
        ofNumber[pool.number] = pool
    }

    mutating func remove(_ pool: ConnectedPool) {
        pool.isListed = false
        all.removeAll { $0 === pool }
        ofNumber[pool.number] = nil
        ofKey[pool.key] = nil
    }
}
