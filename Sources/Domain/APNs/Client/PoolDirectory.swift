/// The pools of a client that are busy or were used recently, by key.
struct PoolDirectory {
    private(set) var all: [ConnectionPool] = []
    private var poolsByKey: [ConnectionPool.Key: ConnectionPool] = [:]

    subscript(key: ConnectionPool.Key) -> ConnectionPool? { poolsByKey[key] }

    mutating func add(_ pool: ConnectionPool) {
        pool.isListed = true
        all.append(pool)
        poolsByKey[pool.key] = pool
    }

    mutating func remove(_ pool: ConnectionPool) {
        pool.isListed = false
        all.removeAll { $0 === pool }
        poolsByKey[pool.key] = nil
    }
}
