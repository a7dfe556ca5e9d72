extension Array {
    /// Returns the first element of each key, in their order. With it, a name that a request repeats is answered once.
    /// Otherwise a small request with many repetitions would have a huge answer.
    func uniqued<Key: Hashable>(by key: (Element) -> Key) -> [Element] {
        var earlierKeys: Set<Key> = []
        return filter { earlierKeys.insert(key($0)).inserted }
    }
}
