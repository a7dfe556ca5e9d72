/// `T?` for the fields of large values. A `var` of type `T?` starts as nil, so an initializer sets it twice.
/// For the second time the compiler copies and destroys the whole value: for a row, thirty reference counts
/// up and down. A property of type `Maybe<T>` has no initial value.
@usableFromInline package typealias Maybe<T> = T?
