extension Array {
    /// The elements without those whose key came before, in their order: what a request names again
    /// is answered once, so that a small request that repeats itself has no huge answer.
    func uniqued<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var seen: Set<Key> = []
        return filter { seen.insert(key($0)).inserted }
    }
}
