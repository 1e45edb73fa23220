// Package tools exists because a module needs a package.
package tools
